package import ObjectModel
import Synchronization

/// The tables, columns and indexes in which a store keeps the objects of a model.
///
/// The rules are those of docs/reference/store-format.md, each with its evidence there.
package struct StoreSchema: Sendable {
  /// The model whose objects the tables keep.
  package let model: ManagedObjectModel
  /// The numbers of its entities.
  package let numbers: EntityNumbers
  /// One table per root entity, in numbering order.
  package var tables: [EntityTable]
  /// One table for each pair of to-many relationships that are each other's inverse.
  package var joinTables: [JoinTable]
  /// The indexes of all tables, but those that SQLite makes for the keys of join tables.
  package var indexes: [Index]
  /// The tables of persistent history; nil in a store that keeps none.
  package var history: HistoryTables?
  /// The derived attributes whose values and triggers are known.
  package var derived: [DerivedAttribute]
  /// The derived attributes of other forms, whose triggers only a store shows.
  package let openDerivations: [OpenDerivation]
  /// Triggers of open derivations that the store has besides.
  package var keptTriggers: [Trigger] = []
  /// The R-trees, each with its triggers.
  package var spatialIndexes: [SpatialIndex]
  /// What the model requires and the store will not have, in words.
  package var omissions: [Omission]
  /// Where `tables` had the table of each root entity at first, and those of each name.
  private let (placesByRoot, placesByName): ([String: Int], [String: Int])

  /// An index that cannot be made, and why.
  package struct Omission: Hashable, Codable, Sendable {
    /// The entity that declares the index.
    package var entity: String
    /// The name that the model gives the index.
    package var index: String
    /// Why it is not made, as the end of a sentence.
    package var reason: String
  }

  /// Lays out the tables of a model; throws where the model holds what no real store shows.
  ///
  /// `naming` has the names that the model leaves open; those that it lacks are as in a fresh
  /// store.
  package init(
    _ model: ManagedObjectModel, naming: JoinNaming = JoinNaming()
  ) throws(SchemaError) {
    if let known = Self.known(model, naming) {
      self = known
      return
    }
    try self.init(layingOut: model, naming)
    Self.recent.withLock { [self] recent in
      if recent.count == Self.mostRecent { recent.removeFirst() }
      recent.append((naming, self))
    }
  }

  /// The most recent schemas: survey, plan and execution of a step request the same ones, and those
  /// of hundreds of entities take a while.
  private static let recent = Mutex<[(naming: JoinNaming, schema: StoreSchema)]>([])
  private static let mostRecent = 4

  /// The schema of a model that was laid out a moment ago, not of one that was read again since.
  private static func known(_ model: ManagedObjectModel, _ naming: JoinNaming) -> StoreSchema? {
    recent.withLock { recent in
      recent.last {
        $0.schema.model.sharesEntities(with: model) && $0.schema.model == model
          && $0.naming == naming
      }?.schema
    }
  }

  private init(layingOut model: ManagedObjectModel, _ naming: JoinNaming) throws(SchemaError) {
    self.model = model
    numbers = EntityNumbers(model)
    try Self.checkSupported(model)
    let layout = TableLayout(model: model, numbers: numbers, naming: naming)
    let tables = model.roots.map { layout.table(root: $0) }
    let wide = tables.filter { $0.columns.count > Self.mostColumns }
    guard wide.isEmpty else {
      throw SchemaError(
        places: [], wide: wide.map { .init(entity: $0.rootName, columns: $0.columns.count) })
    }
    self.tables = tables
    placesByRoot = Self.places(of: tables, by: \.rootName)
    placesByName = Self.places(of: tables, by: \.name)
    joinTables = layout.joinTables()
    let clashes = Self.clashes(of: tables, joinTables)
    guard clashes.isEmpty else { throw SchemaError(places: [], clashes: clashes) }
    (indexes, omissions) = IndexLayout(
      model: model, tables: tables, joinTables: joinTables
    ).indexes()
    (derived, openDerivations) = Self.derived(in: model, numbers: numbers, tables: tables)
    let trees = Self.spatialIndexes(in: model, numbers: numbers, tables: tables)
    spatialIndexes = trees.0
    omissions += trees.1
  }

  /// All triggers, in the order in which Core Data makes them.
  package var triggers: [Trigger] {
    spatialIndexes.flatMap(\.triggers) + derived.flatMap(\.triggers) + keptTriggers
  }

  /// The most columns of a table in SQLite (`SQLITE_MAX_COLUMN`), where it is built as usual.
  package static let mostColumns = 2_000

  /// The tables of the R-trees, and those in which SQLite keeps them.
  package var treeTables: [String] { spatialIndexes.flatMap { [$0.name] + $0.shadowTables } }

  /// The table that holds the rows of an entity.
  package func table(of entity: Entity) -> EntityTable? {
    let root = model.root(of: entity).name
    if let place = placesByRoot[root], place < tables.count, tables[place].rootName == root {
      return tables[place]
    }
    return tables.first { $0.rootName == root }
  }

  /// The table of objects or of history that has this name.
  package func keyedTable(named name: String) -> EntityTable? {
    if let place = placesByName[name], place < tables.count, tables[place].name == name {
      return tables[place]
    }
    return tables.first { $0.name == name } ?? history?.tables.first { $0.name == name }
  }

  private static func places(
    of tables: [EntityTable], by name: (EntityTable) -> String
  ) -> [String: Int] {
    Dictionary(
      tables.enumerated().map { (name($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The names that SQLite takes for one, of tables that a model needs and of Core Data's own.
  private static func clashes(
    of tables: [EntityTable], _ joins: [JoinTable]
  ) -> [SchemaError.Clash] {
    let own: Set<String> = ["Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"]
    var owners: [String: [String]] = [:]
    for table in tables { owners[table.name.uppercased(), default: []].append(table.rootName) }
    for join in joins {
      owners[join.name.uppercased(), default: []].append(
        "\(join.first.entityName).\(join.first.relationshipName)")
    }
    return owners.sorted { $0.key < $1.key }
      .filter { $0.value.count > (own.contains($0.key) ? 0 : 1) }
      .map { SchemaError.Clash(table: $0.key, owners: $0.value.sorted()) }
  }

  private static func checkSupported(_ model: ManagedObjectModel) throws(SchemaError) {
    var problems: [SchemaError.Place] = []
    for entity in model.entities {
      for attribute in entity.leafAttributes
      where !attribute.isTransient && !attribute.type.hasKnownColumn {
        problems.append(
          .init(entity: entity.name, property: attribute.name, type: attribute.type))
      }
      let composites = model.allAttributes(of: entity).filter { $0.type == .composite }
      let leaves = composites.flatMap(\.leaves)
      let derived = entity.attributes.filter { $0.type == .composite }.flatMap(\.leaves).filter {
        $0.derivation != nil && !$0.isTransient
      }
      let names = Set(composites.map(\.name) + leaves.map(\.name))
      let unique = entity.uniquenessConstraints.flatMap { $0 }.filter(names.contains)
      for name in derived.map(\.name) + unique {
        problems.append(.init(entity: entity.name, property: name, type: .composite))
      }
    }
    guard problems.isEmpty else { throw SchemaError(places: problems) }
  }
}

/// Attributes whose columns or indexes are not known, because no real store shows one, and tables
/// that cannot be made.
package struct SchemaError: Error, Hashable, Sendable {
  /// An attribute whose column is not known.
  package struct Place: Hashable, Sendable {
    /// The entity that declares the attribute.
    package var entity: String
    /// The name of the attribute.
    package var property: String
    /// Its type, whose column no real store shows.
    package var type: AttributeType
  }

  /// A table that needs more columns than SQLite allows.
  package struct Wide: Hashable, Sendable {
    /// The root entity, whose objects and whose subentities' objects the table keeps.
    package var entity: String
    /// How many columns it needs.
    package var columns: Int
  }

  /// A table name that two tables would have.
  package struct Clash: Hashable, Sendable {
    /// The name of the table.
    package var table: String
    /// The root entities and relationships that need it; one where it is Core Data's own.
    package var owners: [String]
  }

  /// All such attributes of the model.
  package var places: [Place]
  /// All such tables of the model.
  package var wide: [Wide] = []
  /// All such tables of the model.
  package var clashes: [Clash] = []
}
