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
    /// It goes on as it is, with the name of its file.
    case carried
    /// Its bytes are read out of the file.
    case read
  }

  private let schema: StoreSchema
  private var uses: [Column: [EntityNumber: Use]] = [:]

  init(stage: Stage, survey: StoreSurvey) {
    schema = survey.schema
    switch stage.work {
    case .rows(let steps):
      if let program = RowStep.composed(steps) { add(program) }
      for step in steps where step.isComputed {
        // What is copied is in the program.
        add(readers: [step.mapping], of: survey.model) { $0.isComputed }
      }
    case .objects(let step):
      add(readers: step.mappings.map(\.mapping), of: survey.model) { _ in true }
    }
  }

  /// What becomes of the values in rows of an entity.
  func use(of column: Column, in number: EntityNumber) -> Use { uses[column]?[number] ?? .none }

  private mutating func note(_ use: Use, of column: Column, in number: EntityNumber) {
    if use.rawValue > self.use(of: column, in: number).rawValue {
      uses[column, default: [:]][number] = use
    }
  }

  private mutating func add(_ program: MigrationProgram) {
    for table in program.tables {
      for column in table.columns {
        for (entity, operation) in zip(table.entities, column.operations) {
          guard let (name, use) = operation.externalUse else { continue }
          note(
            use, of: Column(table: table.sourceTable, name: name),
            in: EntityNumber(rawValue: entity.source))
        }
      }
    }
  }

  /// Adds what expressions read, of objects that a filter leaves out too.
  private mutating func add(
    readers mappings: [MappingModel], of model: ManagedObjectModel,
    where isReader: (PropertyMapping) -> Bool
  ) {
    var read = PropertiesRead()
    for mapping in mappings.flatMap(\.entityMappings) where mapping.makesObjects {
      read.add(PropertiesRead(mapping: mapping, source: model, where: isReader))
    }
    for (table, columns) in schema.externalColumns {
      guard let found = schema.tables.first(where: { $0.name == table }) else { continue }
      for column in columns {
        guard case .attribute(let owner, let name)? = found.role(ofColumn: column.name) else {
          continue
        }
        for entity in model.family(of: owner) where read.contains(name, of: entity.name) {
          guard let number = schema.numbers[entity.name] else { continue }
          note(.read, of: Column(table: table, name: column.name), in: number)
        }
      }
    }
  }
}

extension EntityTable {
  /// What a column keeps.
  func role(ofColumn name: String) -> Schema.Column.Role? {
    columns.first { $0.name == name }?.role
  }
}

extension ColumnOperation {
  /// The column with the value of an attribute, and whether its bytes are looked at.
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
