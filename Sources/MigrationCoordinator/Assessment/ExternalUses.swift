import Mapping
import ObjectModel
import Planning
import RowPrograms
import Schema
import Survey

/// What a stage does with the values of external columns of its store.
struct ExternalUses {
  /// A column of the store.
  struct Column: Hashable {
    var table: String
    var name: String
  }

  /// What becomes of a value.
  enum Use: Int {
    /// It stays behind.
    case none
    /// It continues unchanged, with the name of its file.
    case carried
    /// Its bytes are read out of the file.
    case read
  }

  /// One of the ways in which a column's values are carried over.
  private struct Carrier {
    /// The mapping and the place in it that make one object of a row.
    var maker: String
    /// The rows of the entity that it makes nothing of; nil where it takes all.
    var untaken: UntakenRows?
    /// Whether it may make several objects that have the value of one row.
    var makesSeveral = false
  }

  private let schema: StoreSchema
  private var carriers: [Column: [EntityNumber: [Carrier]]] = [:]
  private var uses: [Column: [EntityNumber: Use]] = [:]

  init(stage: Stage, survey: StoreSurvey) {
    schema = survey.schema
    switch stage.method {
    case .rows(let steps):
      if let program = RowStep.composed(steps) { add(program) }
      for step in steps where step.isComputed {
        // What is copied is in the program.
        add(.read, by: [step.mapping], of: survey.model) { _, property in property.isComputed }
      }
    case .objects(let step, _):
      let (mappings, new) = (step.mappings.map(\.mapping), stage.destination.model)
      for use in [Use.carried, .read] {
        add(use, by: mappings, of: survey.model) { mapping, property in
          mapping.copies(property, from: survey.model, to: new) == (use == .carried)
        }
      }
      // Mappings of two models may have one name.
      for (place, mapping) in mappings.flatMap(\.entityMappings).enumerated()
      where mapping.makesObjects {
        addCarriers(of: mapping, place: place, from: survey.model, to: new)
      }
    }
  }

  /// Whether two values of the result come of each in rows of an entity, with the name of its file.
  func isShared(_ column: Column, in number: EntityNumber) -> Bool {
    guard let all = carriers[column]?[number] else { return false }
    return all.contains(where: \.makesSeveral) || Set(all.map(\.maker)).count < all.count
      || (all.count > 1 && all.contains { $0.untaken == nil })
  }

  /// The filters of several mappings that carry values in rows of an entity; empty for fewer.
  ///
  /// Two values of the result come of one where two filters take its row.
  func filters(of column: Column, in number: EntityNumber) -> [UntakenRows] {
    guard !isShared(column, in: number), let all = carriers[column]?[number], all.count > 1
    else { return [] }
    return all.compactMap(\.untaken)
  }

  /// All such filters.
  var filters: Set<UntakenRows> {
    Set(
      carriers.flatMap { column, entities in
        entities.keys.flatMap { filters(of: column, in: $0) }
      })
  }

  /// Whether there are values with this use.
  func contain(_ use: Use) -> Bool { uses.values.contains { $0.values.contains(use) } }

  /// What becomes of the values in rows of an entity.
  func use(of column: Column, in number: EntityNumber) -> Use { uses[column]?[number] ?? .none }

  private mutating func note(_ use: Use, of column: Column, in number: EntityNumber) {
    if use.rawValue > self.use(of: column, in: number).rawValue {
      uses[column, default: [:]][number] = use
    }
  }

  private mutating func add(_ program: MigrationProgram) {
    for (number, table) in program.tables.enumerated() where !table.isOfChanges {
      for column in table.columns {
        for (place, (entity, operation)) in zip(table.entities, column.operations).enumerated() {
          guard let (name, use) = operation.externalUse else { continue }
          let (column, entityNumber) = (
            Column(table: table.sourceTable, name: name), EntityNumber(rawValue: entity.source)
          )
          note(use, of: column, in: entityNumber)
          guard use == .carried else { continue }
          carriers[column, default: [:]][entityNumber, default: []].append(
            Carrier(maker: "\(number).\(place)", untaken: entity.others))
        }
      }
    }
  }

  private mutating func addCarriers(
    of mapping: EntityMapping, place: Int, from source: ManagedObjectModel,
    to destination: ManagedObjectModel
  ) {
    guard let entity = mapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
      let table = schema.table(of: entity), let number = schema.numbers[entity.name]
    else { return }
    for property in mapping.attributeMappings
    where mapping.copies(property, from: source, to: destination) {
      guard case .attribute(let name, _) = property.origin,
        let level = source.declarer(of: name, in: entity.name),
        let column = table.column(role: .attribute(entity: level, name: name))
      else { continue }
      carriers[Column(table: table.name, name: column.name), default: [:]][number, default: []]
        .append(
          Carrier(
            maker: "\(place)",
            untaken: mapping.takesAll ? nil : UntakenRows(table: table.name, mappings: [place]),
            makesSeveral: mapping.newObjects?.pairRelationship != nil))
    }
  }

  /// Adds what property mappings read, also from objects that a filter leaves out.
  private mutating func add(
    _ use: Use, by mappings: [MappingModel], of model: ManagedObjectModel,
    where isWanted: (EntityMapping, PropertyMapping) -> Bool
  ) {
    var read = PropertiesRead()
    for mapping in mappings.flatMap(\.entityMappings) where mapping.makesObjects {
      read.add(PropertiesRead(mapping: mapping, source: model) { isWanted(mapping, $0) })
    }
    for (table, columns) in schema.externalColumns {
      guard let found = schema.tables.first(where: { $0.name == table }) else { continue }
      for column in columns {
        guard case .attribute(let owner, let name)? = found.role(ofColumn: column.name) else {
          continue
        }
        for entity in model.family(of: owner) where read.contains(name, of: entity.name) {
          guard let number = schema.numbers[entity.name] else { continue }
          note(use, of: Column(table: table, name: column.name), in: number)
        }
      }
    }
  }
}

extension EntityMapping {
  /// Whether a property of the new objects gets the unchanged value of the old ones: no bytes of an
  /// external file are read (`MappingPlan`).
  fileprivate func copies(
    _ property: PropertyMapping, from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> Bool {
    guard case .attribute(let name, _) = property.origin,
      let old = source.attribute(name: name, of: sourceEntityName),
      let new = destination.attribute(name: property.name, of: destinationEntityName)
    else { return false }
    return old.type == new.type && old.storesBinaryDataExternally == new.storesBinaryDataExternally
  }
}

extension ManagedObjectModel {
  fileprivate func attribute(name: String, of entity: String?) -> Attribute? {
    entity.flatMap { self.entity(name: $0) }
      .flatMap { allAttributes(of: $0).first { $0.name == name } }
  }
}

extension EntityTable {
  /// What a column keeps.
  func role(ofColumn name: String) -> Schema.Column.Role? {
    columns.first { $0.name == name }?.role
  }
}

extension ColumnOperation {
  /// The column with the value of an attribute, and whether its bytes are read.
  fileprivate var externalUse: (column: String, use: ExternalUses.Use)? {
    switch self {
    case .removeExternalTag(let column, _): (column, .read)
    case .copy(let column, _): (column, .carried)
    case .call(_, _, let standard): standard.externalUse
    case .then(let first, _): first.externalUse
    default: nil
    }
  }
}
