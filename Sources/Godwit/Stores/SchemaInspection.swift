import ModelFiles
import ObjectModel
import Schema
import StoreFormat
import Survey
public import SystemPackage

/// The tables, indexes and triggers in which a store keeps the objects of a model.
///
/// What every store has besides (`Z_PRIMARYKEY`, `Z_METADATA`, `Z_MODELCACHE`) is left out.
public struct SchemaInspection: Hashable, Sendable, Encodable {
  /// A column of a table.
  public struct Column: Hashable, Sendable, Encodable {
    /// The name.
    public var name: String
    /// The type that it is declared with.
    public var type: String
    /// What it holds: `Entity.property`, with what of a relationship it is; nil for a row's own
    /// columns.
    public var holds: String?
  }

  /// A table of objects, or of the pairs of a many-to-many relationship.
  public struct Table: Hashable, Sendable, Encodable {
    /// The name.
    public var name: String
    /// The entities whose objects it holds; those of the two ends of a relationship.
    public var entities: [String]
    /// The columns, in their order.
    public var columns: [Column]
    /// The statement that makes it.
    public var statement: String
  }

  /// An index or a trigger.
  public struct Part: Hashable, Sendable, Encodable {
    /// The name.
    public var name: String
    /// Its table.
    public var table: String
    /// The statement that makes it.
    public var statement: String
  }

  private var version = 1
  private var kind = "schema"
  /// The path of the model or the store.
  public private(set) var path: String
  /// The name of the model's version; nil for that of a store.
  public private(set) var name: String?
  /// The tables, those of objects first.
  public private(set) var tables: [Table]
  /// The indexes, R-trees included.
  public private(set) var indexes: [Part]
  /// The triggers of derived attributes and R-trees.
  public private(set) var triggers: [Part]
  /// Indexes of the model that are not made, a sentence each.
  public private(set) var omissions: [String]
  /// Tables and columns that a store lacks, columns as `table.column`; empty for a model.
  public private(set) var missing: [String] = []
  /// Tables and columns of a store that its model knows nothing of; empty for a model.
  public private(set) var extra: [String] = []

  /// Lays out the tables of a model, or of the model of a store.
  ///
  /// - Parameters:
  ///   - path: a model bundle, a version, a folder or application with one, or a store.
  ///   - version: the version of a bundle; nil takes its current one.
  ///   - models: places to search for a store's model, besides the store itself.
  /// - Throws: `MigrationFailure`, also if no real store shows the column of an attribute.
  public init(of path: FilePath, version: String? = nil, models: [FilePath] = [])
    throws(MigrationFailure)
  {
    self = try MigrationFailure.catching {
      if HeldStore.isStore(path) {
        return try SchemaInspection(ofStore: path, models: models)
      }
      let bundle = try ModelBundle(path)
      let found = try version.map { try bundle.version(named: $0) } ?? bundle.current()
      return SchemaInspection(
        path: "\(bundle.path)", name: found.name, try StoreSchema(try found.model()))
    }
  }

  private init(ofStore path: FilePath, models: [FilePath]) throws {
    let held = try HeldStore(path, models: models)
    let schema = try StoreSchema(held.model)
    let (resolved, differences) = schema.resolved(in: try held.reader.catalog())
    // A table that the store lacks is a part of what its model needs.
    var shown = schema
    shown.joinTables = schema.joinTables.map { table in
      resolved.joinTables.first {
        $0.first.entityName == table.first.entityName
          && $0.first.relationshipName == table.first.relationshipName
      } ?? table
    }
    self.init(path: "\(path)", name: nil, shown)
    missing = differences.missingTables + differences.missingColumns
    extra = differences.extraTables + differences.extraColumns
    try held.access.requireUnchanged()
  }

  private init(path: String, name: String?, _ schema: StoreSchema) {
    (self.path, self.name) = (path, name)
    tables =
      schema.tables.map { table in
        Table(
          name: table.name, entities: table.entityNames,
          columns: table.columns.map {
            Column(name: $0.name, type: $0.type.rawValue, holds: $0.role.words)
          }, statement: table.createStatement)
      }
      + schema.joinTables.map { table in
        Table(
          name: table.name, entities: [table.first.entityName, table.second.entityName],
          columns: table.columnNames.map {
            Column(name: $0, type: "INTEGER", holds: table.words(of: $0))
          }, statement: table.createStatement)
      }
    indexes =
      schema.indexes.map { Part(name: $0.name, table: $0.table, statement: $0.createStatement) }
      + schema.spatialIndexes.map {
        Part(name: $0.name, table: $0.table, statement: $0.createStatement)
      }
    triggers = schema.triggers.map {
      Part(name: $0.name, table: $0.table, statement: $0.statement)
    }
    omissions = schema.omissions.map {
      "the index \($0.index) of \($0.entity) is not made: \($0.reason)"
    }
  }

  /// The output of `godwit inspect --schema`: SQL, with comments.
  public var summary: String {
    let heading = "-- \(path)\(name.map { ", \($0)" } ?? "")"
    let tables = tables.map { "-- \($0.entities.joined(separator: ", "))\n\($0.statement);" }
    let parts = (indexes + triggers).map { "\($0.statement);" }
    let notes =
      omissions.map { "-- \($0)" } + missing.map { "-- the store lacks \($0)" }
      + extra.map { "-- the store has \($0) besides" }
    return ([heading] + tables + parts + notes).joined(separator: "\n")
  }
}

extension Schema.Column.Role {
  /// The property and what of it the column holds; nil for a row's own columns.
  fileprivate var words: String? {
    switch self {
    case .primaryKey, .entityNumber, .optimisticLock: nil
    case .attribute(let entity, let name): "\(entity).\(name)"
    case .toOne(let entity, let name): "\(entity).\(name): the key of its object"
    case .toOneEntity(let entity, let name): "\(entity).\(name): the entity number of its object"
    case .toOneOrder(let entity, let name): "\(entity).\(name): the place among its siblings"
    case .owner(let entity, let name): "\(entity).\(name): the key of the owner"
    case .ownerOrder(let entity, let name): "\(entity).\(name): the place among its siblings"
    }
  }
}

extension JoinTable {
  /// What a column holds.
  fileprivate func words(of column: String) -> String {
    for end in [first, second] {
      if end.keyColumn == column { return "\(end.entityName).\(end.relationshipName): the owner" }
    }
    let (end, other) = first.orderColumn == column ? (second, first) : (first, second)
    return "\(end.entityName).\(end.relationshipName): the place of the \(other.entityName)"
  }
}
