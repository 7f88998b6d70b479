package import Mapping
package import ObjectModel
package import Schema

/// Decides what becomes of derived attributes and their triggers, from the programs of all tables.
///
/// A value whose parts come over as they are is carried along, as Core Data's own migrations in
/// place do; any other is computed again once all rows are together. Of forms that no real store
/// shows, triggers are carried where nothing that they name changes.
package struct DerivedCompiler {
  private let source: StoreSchema
  private let destination: StoreSchema

  /// Takes the schema of a store, with its triggers, and that of the store to make.
  package init(source: StoreSchema, destination: StoreSchema) {
    self.source = source
    self.destination = destination
  }

  /// Why a derived attribute cannot be had in the result.
  package struct Obstacle: Hashable, Sendable {
    /// The attribute.
    package var attribute: OpenDerivation
    /// A trigger that something else than the attribute itself stands against; nil where the
    /// attribute is not what the source had.
    package var trigger: String?
  }

  /// The attributes that are computed again.
  package func recomputed(tables: [TableProgram]) -> [DerivedAttribute] {
    let programs = Programs(tables)
    return destination.derived.filter { !isCarried($0, by: programs) }
  }

  /// The triggers of open derivations that the result keeps, and what stands against others.
  package func openTriggers(tables: [TableProgram]) -> (kept: [Trigger], [Obstacle]) {
    let programs = Programs(tables)
    return openTriggers(by: programs) { open in origin(of: open, by: programs).map { [$0] } }
  }

  /// The same where objects are made one by one, so that no trigger is known to fit.
  ///
  /// - Parameter origins: the attributes of the source that one continues; nil for none.
  package func openTriggers(
    origins: (OpenDerivation) -> [OpenDerivation]?
  ) -> (kept: [Trigger], [Obstacle]) { openTriggers(by: nil, origins: origins) }

  private func openTriggers(
    by programs: Programs?, origins: (OpenDerivation) -> [OpenDerivation]?
  ) -> (kept: [Trigger], [Obstacle]) {
    var kept: [Trigger] = []
    var obstacles: [Obstacle] = []
    for open in destination.openDerivations {
      guard let before = origins(open), before.allSatisfy({ isSame(open, as: $0) }) else {
        obstacles.append(Obstacle(attribute: open, trigger: nil))
        continue
      }
      let triggers = source.keptTriggers.filter { trigger in
        before.contains { $0.isKept(by: trigger) }
      }
      let moved = triggers.first { trigger in
        programs.map { before != [open] || !isUntouched(trigger, by: $0) } ?? true
      }
      if let moved {
        obstacles.append(Obstacle(attribute: open, trigger: moved.name))
      } else {
        kept += triggers
      }
    }
    return (kept, obstacles)
  }

  /// The tables of entities that a trigger names.
  package func tables(namedBy trigger: Trigger) -> [String] {
    tables(in: TriggerWords(trigger.statement)).map(\.name)
  }

  private func tables(in words: TriggerWords) -> [EntityTable] {
    source.tables.filter { words.names.contains($0.name) }
  }

  /// Why derived attributes that only Core Data computes lose their values where rows of these
  /// tables stay behind.
  package func openDerivations(readingRowsOf isLacking: (String) throws -> Bool) rethrows
    -> [Refusal]
  {
    try destination.openDerivations.compactMap { open in
      let lacking = try destination.inputs(of: open).first { input in
        guard let target = input.target.flatMap({ destination.model.entity(name: $0) }),
          let table = destination.table(of: target)
        else { return false }
        return try isLacking(table.name)
      }
      return lacking.map { open.refusal(changed: $0) }
    }
  }

  // MARK: Known forms

  private func isCarried(_ attribute: DerivedAttribute, by programs: Programs) -> Bool {
    guard let table = programs[attribute.table], let column = table.copied(attribute.column),
      let old = source.derived.first(where: { $0.table == table.sourceTable && $0.column == column }
      )
    else { return false }
    switch (old.source, attribute.source) {
    case (.count(let oldTable, let oldKey), .count(let newTable, let newKey)):
      guard let other = programs[newTable] else { return false }
      return other.sourceTable == oldTable && other.referred(newKey) == oldKey
        && takesAll(other)
    case (
      .value(let oldLink, let oldTable, let oldValue), .value(let link, let newTable, let value)
    ):
      guard let other = programs[newTable] else { return false }
      return table.referred(link) == oldLink && other.sourceTable == oldTable
        && other.copied(value) == oldValue && takesAll(other)
    default: return false
    }
  }

  /// Whether no entity of the program's source table stays behind.
  private func takesAll(_ program: TableProgram) -> Bool {
    guard !program.isFiltered,
      let table = source.tables.first(where: { $0.name == program.sourceTable })
    else { return false }
    let taken = Set(program.entities.map(\.source))
    return table.entityNames.allSatisfy { name in
      source.model.entity(name: name)?.isAbstract == true
        || source.numbers[name].map { taken.contains($0.rawValue) } == true
    }
  }

  // MARK: Open derivations

  /// Whether the source derives an attribute in the same way.
  private func isSame(_ open: OpenDerivation, as before: OpenDerivation) -> Bool {
    func attribute(_ open: OpenDerivation, in model: ManagedObjectModel) -> Attribute? {
      model.entity(name: open.entity)?.attributes.first { $0.name == open.attribute }
    }
    guard let new = attribute(open, in: destination.model),
      let old = attribute(before, in: source.model)
    else { return false }
    return new.derivation?.isSame(as: old.derivation) == true && old.type == new.type
  }

  /// The attribute of the source whose values an attribute has in every row.
  private func origin(of open: OpenDerivation, by programs: Programs) -> OpenDerivation? {
    guard let place = column(of: open, in: destination), let program = programs[place.table],
      let column = program.copied(place.column),
      let table = source.tables.first(where: { $0.name == program.sourceTable }),
      case .attribute(let entity, let name)? = table.columns.first(where: { $0.name == column })?
        .role
    else { return nil }
    return OpenDerivation(entity: entity, attribute: name)
  }

  private func column(
    of open: OpenDerivation, in schema: StoreSchema
  ) -> Place? {
    guard let entity = schema.model.entity(name: open.entity), let table = schema.table(of: entity),
      let column = table.column(role: .attribute(entity: open.entity, name: open.attribute))
    else { return nil }
    return Place(table: table.name, column: column.name)
  }

  private struct Place: Equatable {
    var table: String
    var column: String
  }

  /// Whether everything that a trigger names is the same before and after, and no entity number is
  /// among it.
  private func isUntouched(_ trigger: Trigger, by programs: Programs) -> Bool {
    let words = TriggerWords(trigger.statement)
    guard !words.comparesNumbers else { return false }
    let named = tables(in: words)
    guard named.contains(where: { $0.name == trigger.table }) else { return false }
    return named.allSatisfy { table in
      guard let program = programs[table.name], program.sourceTable == table.name,
        takesAll(program)
      else { return false }
      return table.columns.dropFirst(3).allSatisfy { column in
        !words.names.contains(column.name) || program.carries(column.name)
      }
    }
      // A join table's rows come over by programs of their own.
      && !source.joinTables.contains { words.names.contains($0.name) }
  }
}

/// The programs of tables by the names of their destinations.
private struct Programs {
  private let byTable: [String: TableProgram]

  init(_ tables: [TableProgram]) {
    byTable = Dictionary(
      tables.map { ($0.destinationTable, $0) }, uniquingKeysWith: { first, _ in first })
  }

  subscript(table: String) -> TableProgram? { byTable[table] }
}

extension TableProgram {
  /// The source column whose values a column takes in every row, as they are; nil for none.
  fileprivate func copied(_ column: String) -> String? {
    common(column) {
      if case .copy(let column, .null) = $0 { column } else { nil }
    }
  }

  /// The source column whose references a column takes in every row, all of them; nil for none.
  fileprivate func referred(_ column: String) -> String? {
    common(column) {
      switch $0 {
      case .reference(let column, filter: nil): column
      case .copy(let column, .null): column
      default: nil
      }
    }
  }

  /// Whether a column holds in every row what the column of that name held.
  fileprivate func carries(_ column: String) -> Bool { referred(column) == column }

  private func common(
    _ column: String, of source: (ColumnOperation) -> String?
  ) -> String? {
    guard let program = columns.first(where: { $0.name == column }) else { return nil }
    let found = Set(program.operations.map(source))
    return found.count == 1 ? found.first ?? nil : nil
  }
}

/// The words of a trigger's statement.
struct TriggerWords {
  /// All names, keywords and numbers.
  let names: Set<String>
  /// Whether an entity number is compared with anything, or is put into a row.
  let comparesNumbers: Bool

  init(_ statement: String) {
    var tokens: [String] = []
    var word = ""
    for character in statement {
      if character.isLetter || character.isNumber || character == "_" {
        word.append(character)
        continue
      }
      if !word.isEmpty { tokens.append(word) }
      word = ""
      if !character.isWhitespace { tokens.append(String(character)) }
    }
    if !word.isEmpty { tokens.append(word) }
    names = Set(tokens)
    // An argument stands between commas; everything else belongs to the number.
    let argument: Set<String> = [",", "(", ")"]
    comparesNumbers = tokens.indices.contains { place in
      guard tokens[place].uppercased() == "Z_ENT" else { return false }
      let before = place > 0 ? tokens[place - 1] : ""
      let after = place + 1 < tokens.count ? tokens[place + 1] : ""
      return !argument.contains(before) || !argument.contains(after)
    }
  }
}

extension StoreSchema {
  /// The properties from which Core Data computes a derived attribute.
  package func inputs(of open: OpenDerivation) -> [DerivationInput] {
    let attribute = model.entity(name: open.entity)?.attributes.first {
      $0.name == open.attribute
    }
    return attribute?.derivation.map { model.inputs(of: $0, in: open.entity) } ?? []
  }
}

extension OpenDerivation {
  /// The refusal of a change of something from which Core Data computes the attribute.
  package func refusal(changed input: DerivationInput) -> Refusal {
    Refusal(
      reason: .derivedValueNotKept(changed: "\(input.entity).\(input.property)"),
      entity: entity, property: attribute)
  }
}
