import Expressions
import GRDB
import Mapping
import ObjectModel
import Schema

/// Keeps account of the source objects that mappings take and of what is made of them.
final class ObjectTally {
  private let context: ObjectContext
  private let models: [MappingModel]
  private let scope: MappingScope
  private let now: Double
  private var db: Database { context.db }
  /// By source entity, whatever mapping it was.
  private var taken: [String: KeySet] = [:]
  private var used: [String: KeySet] = [:]
  private var takenBy: [String: Int64] = [:]
  private var accounts = ObjectAccounts()
  /// What came in since the mapping or the entity was another one.
  private var recent = (mapping: "", facts: EntityFacts?.none, keys: KeySet(), count: Int64(0))

  init(
    source: ObjectContext, models: [MappingModel], scope: MappingScope,
    now: Double
  ) {
    context = source
    self.models = models
    self.scope = scope
    self.now = now
  }

  /// Notes that the mapping's hook of creation gets the object.
  func take(_ object: ManagedObject, mapping: EntityMapping) {
    if object.facts !== recent.facts || mapping.name != recent.mapping {
      noteRecent()
      recent = (mapping.name, object.facts, KeySet(), 0)
    }
    recent.keys.insert(object.primaryKey)
    recent.count += 1
  }

  private func noteRecent() {
    guard let facts = recent.facts else { return }
    taken[facts.name, default: KeySet()].formUnion(recent.keys)
    takenBy[recent.mapping, default: 0] += recent.count
    recent = ("", nil, KeySet(), 0)
  }

  /// Whether a mapping took an object.
  func isTaken(_ key: Int64, of entity: String) -> Bool {
    noteRecent()
    return taken[entity]?.contains(key) == true
  }

  /// Adds what became of references.
  func add(_ references: [ObjectAccounts.OfReferences]) { accounts.references += references }

  /// Closes the accounts of one mapping model, before its associations go.
  ///
  /// - Parameter made: how many objects mappings of new objects made.
  func close(
    model index: Int, associations: Associations, numbers: [String: Int64],
    made new: [String: Int64]
  ) throws {
    noteRecent()
    for mapping in scope.own[index] where mapping.makesObjects || mapping.newObjects != nil {
      if mapping.sourceEntityName == nil, let count = new[mapping.name] {
        accounts.mappings.append(
          .init(
            model: index, mapping: mapping.name, source: nil,
            destination: mapping.destinationEntityName, taken: 0, used: 0, made: count))
      }
      guard let source = mapping.sourceEntityName, let number = numbers[mapping.name] else {
        continue
      }
      let made = try associations.accounts(mapping: number)
      for (table, keys) in made.sources {
        note(keys, table: table, of: source)
      }
      accounts.mappings.append(
        .init(
          model: index, mapping: mapping.name, source: source,
          destination: mapping.destinationEntityName, taken: takenBy[mapping.name] ?? 0,
          used: made.sources.values.reduce(0) { $0 + $1.count },
          made: new[mapping.name] ?? made.objects))
    }
    takenBy = [:]
  }

  /// A policy may associate objects of other entities of the table, which do not count here.
  private func note(_ keys: KeySet, table: Int64, of source: String) {
    guard let facts = try? context.entityFacts(name: source), Int64(facts.tableIndex) == table
    else {
      return
    }
    used[source, default: KeySet()].formUnion(keys)
  }

  /// The accounts of all mapping models, with every source object whose account is kept here.
  ///
  /// - Parameter tables: what the result has, as it was read again.
  func finish(
    _ tables: [ObjectMigration.WrittenTable], schema: StoreSchema
  ) throws -> ObjectAccounts {
    for entity in context.schema.model.entities where !entity.isAbstract && isKept(entity.name) {
      accounts.entities.append(try account(entity.name))
    }
    let written = Dictionary(tables.map { ($0.name, $0.rows) }, uniquingKeysWith: { $1 })
    let entities = Dictionary(grouping: schema.model.entities.filter { !$0.isAbstract }) {
      schema.model.root(of: $0).name
    }
    for table in schema.tables {
      guard let count = written[table.name] else { continue }
      if let only = entities[table.rootName], only.count == 1 {
        accounts.rows[only[0].name, default: 0] += count
        continue
      }
      let rows = try Row.fetchAll(
        db,
        sql: "SELECT Z_ENT, count(*) FROM main.\(SQL.identifier(name: table.name)) GROUP BY Z_ENT")
      for row in rows {
        let number = Int64.fromDatabaseValue(row[0]) ?? 0
        guard let name = schema.numbers[EntityNumber(rawValue: number)] else { continue }
        accounts.rows[name, default: 0] += row[1]
      }
    }
    accounts.read = context.propertiesRead
    return accounts
  }

  /// Whether this run keeps the account of an entity: the one that carries out its first mapping
  /// with a policy, else its first one.
  private func isKept(_ entity: String) -> Bool {
    let takers = models.enumerated().flatMap { index, model in
      model.entityMappings.filter { $0.makesObjects && $0.sourceEntityName == entity }
        .map { (index, $0) }
    }
    guard let (index, first) = takers.first(where: { $1.ownPolicyClassName != nil }) ?? takers.first
    else { return false }
    return scope.own[index].contains { $0.name == first.name }
  }

  private func account(_ entity: String) throws -> ObjectAccounts.OfEntity {
    let facts = try context.entityFacts(name: entity)
    var result = ObjectAccounts.OfEntity(entity: entity)
    guard context.schema.tables.contains(where: { $0.name == facts.tableName }) else {
      return result
    }
    let others = try models.indices.flatMap { scope.foreign($0) }.filter {
      $0.makesObjects && $0.sourceEntityName == entity
    }.compactMap { try $0.predicate.map { try ObjectFilter(text: $0, facts: facts, now: now) } }
    let (used, taken) = (used[entity] ?? KeySet(), taken[entity] ?? KeySet())
    let keys = try Int64.fetchCursor(
      db,
      sql: """
        SELECT Z_PK FROM \(context.sqlTable(name: facts.tableName)) NOT INDEXED
        WHERE Z_ENT = \(facts.number) ORDER BY Z_PK
        """)
    while let key = try keys.next() {
      result.objects += 1
      if used.contains(key) {
        result.kept += 1
        continue
      }
      let object = context.object(at: ObjectPlace(facts: facts, key: key))
      if try others.contains(where: { try $0.takes(object) }) {
        result.kept += 1
      } else if taken.contains(key) {
        result.dropped += 1
        if result.droppedKeys.count < FilterSurvey.reportedKeyLimit {
          result.droppedKeys.append(key)
        }
      } else {
        result.untaken += 1
        if result.untakenKeys.count < FilterSurvey.reportedKeyLimit {
          result.untakenKeys.append(key)
        }
      }
    }
    return result
  }
}

extension Associations {
  /// The source objects from which a mapping made something, by table, and the number of its
  /// objects.
  func accounts(mapping: Int64) throws -> (sources: [Int64: KeySet], objects: Int64) {
    var (sources, objects) = keptAccounts(mapping: mapping)
    if hasMoved(mapping: mapping) {
      let merges = mergesSources(mapping: mapping)
      let pairs = try Row.fetchCursor(
        db,
        sql: """
          SELECT source_table, source, destination_table, destination FROM link.association
          WHERE mapping = ?
          """, arguments: [mapping])
      var seen: [Int64: KeySet] = [:]
      while let pair = try pairs.next() {
        sources[pair[0], default: KeySet()].insert(pair[1])
        let place = Place(table: pair[2], key: pair[3])
        if merges {
          guard seen[place.table]?.contains(place.key) != true,
            !isKept(place, mapping: mapping)
          else { continue }
          seen[place.table, default: KeySet()].insert(place.key)
        }
        objects += 1
      }
    }
    return (sources, objects)
  }
}
