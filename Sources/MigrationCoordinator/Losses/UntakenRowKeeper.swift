import Mapping
import MigrationEngine
import ObjectMigration
import ObjectModel
import RowPrograms
import Schema

/// Keeps the keys of rows by what takes them, as the program of a step asks for them.
final class UntakenRowKeeper {
  /// The keys, once `finish` has returned.
  let keys: RowKeys
  /// How many objects of its source entity each mapping does not take, by its name.
  private(set) var left: [String: Int64] = [:]
  /// How many keys are in each set, by its name.
  private(set) var counts: [String: Int64] = [:]

  private let step: RowStep
  private let sets: [(rows: UntakenRows, writer: RowKeyWriter)]
  private var division: MappingLosses.Division?
  /// The sets that have rows of the division's entity, with the places of their mappings in it.
  private var open: [(writer: RowKeyWriter, places: [Int], name: String, count: Int64)] = []
  /// Mappings of the division, by their places, of which no two may take one object.
  private var exclusive: [[Int]] = []

  init(_ step: RowStep) throws {
    self.step = step
    let keys = try RowKeys()
    self.keys = keys
    let rows = (step.program?.untakenRows ?? []).sorted { $0.name < $1.name }
    sets = rows.map { ($0, RowKeyWriter(keys, beside: rows.count - 1)) }
  }

  /// Begins with the objects of another entity.
  func begin(_ division: MappingLosses.Division) throws {
    self.division = division
    let mappings = division.mappings.map { step.mapping.place(named: $0) }
    open = sets.compactMap { rows, writer in
      let places = mappings.indices.filter { place in
        mappings[place].map(rows.mappings.contains) ?? false
      }
      return places.isEmpty ? nil : (writer, places, rows.name, 0)
    }
    exclusive = []
    guard step.calls?.exclusive.contains(division.entity) == true else { return }
    let model = step.destination.model
    let roots = division.mappings.map { name in
      step.mapping.mapping(named: name)?.destinationEntityName
        .flatMap { model.entity(name: $0) }.map { model.root(of: $0).name }
    }
    exclusive = Dictionary(grouping: roots.indices, by: { roots[$0] }).values.filter {
      $0.count > 1
    }.sorted { $0[0] < $1[0] }
  }

  /// Takes the keys of objects, and which of the mappings take each.
  ///
  /// - Throws: `RowFallback` where two do that must not.
  func add(_ found: FilterSurvey.Finding) throws {
    guard let mappings = division?.mappings, !found.keys.isEmpty else { return }
    for index in open.indices {
      let keys = found.keys(takenByNoneOf: open[index].places)
      try open[index].writer.add(keys, table: open[index].name)
      open[index].count += Int64(keys.count)
    }
    if exclusive.isEmpty { return }
    for row in found.keys.indices {
      let takes = found.takes[row * mappings.count..<(row + 1) * mappings.count]
      for places in exclusive {
        let takers = places.filter { takes[takes.startIndex + $0] }
        guard takers.count > 1 else { continue }
        throw RowFallback(reason: .shared(by: mappings[takers[1]]), mapping: mappings[takers[0]])
      }
    }
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

extension FilterSurvey.Finding {
  /// The keys of objects that none of some mappings takes.
  fileprivate func keys(takenByNoneOf places: [Int]) -> [Int64] {
    let mappings = takes.count / keys.count
    // What a mapping of its own does not take is all that is told.
    if mappings == 1 { return keys }
    return keys.indices.compactMap { row in
      places.contains { takes[row * mappings + $0] } ? nil : keys[row]
    }
  }
}
