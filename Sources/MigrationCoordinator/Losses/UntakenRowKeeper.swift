import Mapping
import MigrationEngine
import ObjectMigration
import ObjectModel
import RowPrograms
import Schema
import Survey

/// Keeps the keys of rows by the mappings that take them, as the program of a step requires.
final class UntakenRowKeeper {
  /// The keys, once `finish` has returned.
  let keys: RowKeys
  /// How many objects of its source entity each mapping does not take, by its name.
  private(set) var left: [String: Int64] = [:]
  /// How many keys are in each set, by its name.
  private(set) var counts: [String: Int64] = [:]

  private let mapping: MappingModel
  private let exclusive: Set<String>
  private let model: ManagedObjectModel
  private let sets: [(rows: UntakenRows, writer: RowKeyWriter)]
  private var division: MappingLosses.Division?
  /// The sets that have rows of the division's entity.
  private var open: [(writer: RowKeyWriter, name: String, count: Int64)] = []

  /// Keeps what the program of a step requires, and the counts of its references.
  convenience init(_ step: RowStep, counts: TableCounts) throws {
    let view = RowView(
      model: step.source.model, schema: step.source, program: nil, counts: counts)
    try self.init(
      (step.program?.untakenRows ?? []).union(ReferenceCounts.filters(step.fates, view: view)),
      mapping: step.mapping, exclusive: step.calls?.exclusive ?? [],
      destination: step.destination.model)
  }

  /// Keeps some sets of rows.
  ///
  /// - Parameter exclusive: the source entities whose objects at most one mapping may take.
  init(
    _ rows: Set<UntakenRows>, mapping: MappingModel, exclusive: Set<String>,
    destination: ManagedObjectModel
  ) throws {
    (self.mapping, self.exclusive, model) = (mapping, exclusive, destination)
    let keys = try RowKeys()
    self.keys = keys
    let rows = rows.sorted { $0.name < $1.name }
    sets = rows.map { ($0, RowKeyWriter(keys, beside: rows.count - 1)) }
  }

  /// Begins with the objects of another entity; what is to be found out about them.
  func begin(_ division: MappingLosses.Division) -> FilterSurvey.Question {
    self.division = division
    let mappings = division.mappings.map { mapping.place(named: $0) }
    var question = FilterSurvey.Question()
    open = sets.compactMap { rows, writer in
      let places = mappings.indices.filter { place in
        mappings[place].map(rows.mappings.contains) ?? false
      }
      if places.isEmpty { return nil }
      question.untaken.append(places)
      return (writer, rows.name, 0)
    }
    guard exclusive.contains(division.entity) else { return question }
    let roots = division.mappings.map { name in
      mapping.mapping(named: name)?.destinationEntityName
        .flatMap { model.entity(name: $0) }.map { model.root(of: $0).name }
    }
    question.exclusive = Dictionary(grouping: roots.indices, by: { roots[$0] }).values.filter {
      $0.count > 1
    }.sorted { $0[0] < $1[0] }
    return question
  }

  /// Takes what was found out.
  ///
  /// - Throws: `RowFallback` where two mappings take an object that must not.
  func add(_ found: FilterSurvey.Finding) throws {
    for (index, keys) in found.keys.enumerated() {
      try open[index].writer.add(keys, table: open[index].name)
      open[index].count += Int64(keys.count)
    }
    guard let shared = found.shared, let mappings = division?.mappings else { return }
    throw RowFallback(reason: .shared(by: mappings[shared.1]), mapping: mappings[shared.0])
  }

  /// Ends with the objects of the entity, with how many each mapping does not take.
  func end(_ left: [Int64]) {
    guard let division else { return }
    for set in open { counts[set.name, default: 0] += set.count }
    for (name, count) in zip(division.mappings, left) { self.left[name] = count }
  }

  /// Writes what waits.
  func finish() throws { for set in sets { try set.writer.finish() } }
}
