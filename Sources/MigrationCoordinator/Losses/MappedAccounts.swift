import Mapping
import ObjectModel
import Planning
import Schema
import Survey

/// The accounts of a stage that migrated its objects one by one.
struct MappedAccounts {
  private(set) var accounts = StageAccounts()
  /// All losses of the stage, including those that only the workers could count.
  private(set) var losses: [Loss]

  private var check = AccountCheck()

  /// Combines the counts made beforehand with those of the workers.
  ///
  /// - Throws: `MigrationError.accountsDiffer`.
  init(
    counted: CountedLosses, beforehand: [Loss], objects: ObjectAccounts,
    manifests: [ShardManifest]
  ) throws {
    // Workers have counted what filters exclude, which replaces the earlier count.
    losses = beforehand.filter { $0.kind != .entity || $0.cause != .filter }
    accounts.mappings = objects.mappings
    accounts.rows = objects.rows
    var rowCounts = RowCounts(counted.survey)
    for entity in counted.survey.model.entities where !entity.isAbstract {
      let reported = objects.entities.first { $0.entity == entity.name }
      if let reported, reported.objects != rowCounts.count(of: entity.name),
        let table = counted.survey.schema.table(of: entity)
      {
        try rowCounts.recount(table.name)
        if let loss = try rowCounts.strays(in: table),
          !losses.contains(where: { $0.cause == .unknownEntity && $0.name == loss.name })
        {
          losses.append(loss)
        }
      }
      add(entity.name, rows: rowCounts.count(of: entity.name), reported: reported)
    }
    checkMappings(counted.mappings, objects: objects)
    try addPairs(counted, manifests: manifests)
    losses += try counted.unread(by: objects.read)
    try check.requireAgreement()
  }

  private mutating func add(
    _ entity: String, rows: Int64, reported: ObjectAccounts.OfEntity?
  ) {
    var account = StageAccounts.OfEntity(entity: entity, rowsIn: rows, rowsOut: 0, dropped: [])
    if let reported {
      check.expect(rows, found: reported.objects, side: .table, name: entity)
      check.expect(
        rows, found: reported.kept + reported.untaken + reported.dropped, side: .source,
        name: entity)
      account.rowsOut = reported.kept
      let drops: [(LossCause, Int64, [Int64])] = [
        (.filter, reported.untaken, reported.untakenKeys),
        (.policy, reported.dropped, reported.droppedKeys),
      ]
      for (cause, count, keys) in drops where count > 0 {
        account.dropped.append(.init(cause: cause, objects: count))
        losses.append(
          Loss(
            kind: .entity, cause: cause, entity: entity, property: nil, count: count, keys: keys))
      }
    } else if rows > 0 {
      let loss = losses.first { $0.kind == .entity && $0.entity == entity }
      check.expect(rows, found: loss?.count ?? 0, side: .source, name: entity)
      account.dropped = [.init(cause: loss?.cause ?? .removed, objects: rows)]
    }
    accounts.entities.append(account)
  }

  /// Adds the results of pairs; if every object continues, all pairs do except those of missing
  /// objects.
  private mutating func addPairs(_ counted: CountedLosses, manifests: [ShardManifest]) throws {
    let survey = counted.survey
    guard
      let pairs = MappedPairs(
        counted.mappings, survey: survey, destination: counted.destination)
    else { return }
    let written = Dictionary(
      manifests.flatMap(\.pieces).map { ($0.table, $0.rowsWritten) }, uniquingKeysWith: +)
    accounts.pairs = try pairs.accounts(
      written: written, incomplete: losses.incompletePairs(of:))
    let isWhole =
      accounts.entities.allSatisfy { $0.rowsIn == $0.rowsOut }
      && !losses.contains { $0.cause == .unknownEntity }
    guard isWhole else { return }
    for account in accounts.pairs {
      guard
        let join = survey.schema.joinTables.first(where: {
          $0.first.entityName == account.entity
            && $0.first.relationshipName == account.relationship
        }), let dangling = try pairs.dangling(join)
      else { continue }
      check.expect(dangling, found: account.dropped, side: .table, name: join.name)
    }
  }

  /// Checks that each mapping without a policy made one object of each that it took, unless it
  /// makes new ones, and that no other objects exist unless a policy may have made them.
  private mutating func checkMappings(_ models: [MappingModel], objects: ObjectAccounts) {
    let all = models.flatMap(\.entityMappings)
    let hasPolicies = all.contains { $0.ownPolicyClassName != nil }
    var made: [String: Int64] = [:]
    for reported in objects.mappings {
      guard models.indices.contains(reported.model),
        let mapping = models[reported.model].mapping(named: reported.mapping)
      else { continue }
      if let name = mapping.destinationEntityName { made[name, default: 0] += reported.made }
      guard mapping.ownPolicyClassName == nil, mapping.newObjects == nil else { continue }
      check.expect(reported.taken, found: reported.used, side: .mapping, name: reported.mapping)
      check.expect(reported.taken, found: reported.made, side: .mapping, name: reported.mapping)
    }
    guard !hasPolicies else { return }
    for name in Set(made.keys).union(objects.rows.keys).sorted() {
      check.expect(made[name] ?? 0, found: objects.rows[name] ?? 0, side: .destination, name: name)
    }
  }
}
