import Mapping
import MigrationEngine
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

  /// Takes the key of an object, and which of the mappings take it.
  ///
  /// - Throws: `RowFallback` where two do that must not.
  func add(_ key: Int64, takes: [Bool]) throws {
    for index in open.indices where !open[index].places.contains(where: { takes[$0] }) {
      try open[index].writer.add(key, table: open[index].name)
      open[index].count += 1
    }
    for places in exclusive {
      let takers = places.filter { takes[$0] }
      guard takers.count > 1, let names = division?.mappings else { continue }
      throw RowFallback(reason: .shared(by: names[takers[1]]), mapping: names[takers[0]])
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
