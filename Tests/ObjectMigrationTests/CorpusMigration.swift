import Foundation
import GRDB
import Godwit
import Mapping
import MappingFiles
import ModelFiles
import ObjectMigration
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport

/// A migration of a store by objects, from version to version of a bundle.
struct CorpusMigration {
  var bundle = ""
  var policies = MigrationPolicies()
  var validation = ValidationMode.strict

  func version(_ name: String) throws -> ManagedObjectModel {
    let versions = try ModelBundle(Corpus.path(bundle)).versions
    guard let version = versions.first(where: { $0.name == name }) else {
      throw Missing(name: name)
    }
    return try version.model()
  }

  struct Missing: Error { var name: String }

  /// Takes the store one step on; the result lies in the scratch folder.
  func step(
    _ store: FilePath, from: String, to: String, by mappings: [String]
  ) throws -> (store: FilePath, report: ObjectMigration.Report) {
    try step(
      store, from: version(from), to: version(to),
      by: mappings.map { try MappingFile.read(Corpus.path($0)).mapping })
  }

  func step(
    _ store: FilePath, from source: ManagedObjectModel, to destination: ManagedObjectModel,
    by mappings: [MappingModel]
  ) throws -> (store: FilePath, report: ObjectMigration.Report) {
    let reader = try StoreReader(immutable: store)
    let schema = try StoreSchema(source).resolved(in: try reader.catalog()).schema
    let metadata = try reader.metadata().restated(
      hashes: try destination.versionHashes(), versionIdentifiers: [])
    let work = ScratchFolder.current.appending(UUID().uuidString)
    try FileManager.default.createDirectory(
      atPath: work.string, withIntermediateDirectories: true)
    let result = work.appending("result.sqlite")
    var order = ObjectMigration.Order(
      source: store, sourceSchema: schema, destinationSchema: try StoreSchema(destination),
      mappings: mappings, result: result, links: FilePath("\(result).links"), metadata: metadata,
      now: 0)
    order.maxima = Dictionary(
      try reader.primaryKeys().map { ($0.name, $0.maximum) }, uniquingKeysWith: max)
    order.policies = policies.factories
    order.validation = validation
    return (result, try ObjectMigration(order).migrate())
  }
}

extension ObjectMigration.Report {
  /// Objects of the result; tables of pairs hold none.
  var objectsWritten: Int64 {
    tables.filter { !$0.name.hasPrefix("Z_") }.reduce(0) { $0 + $1.rows }
  }
}

/// What a query says of a store.
struct Query {
  let connection: StoreConnection

  init(_ store: FilePath) throws { connection = try StoreConnection.immutable(store) }

  func number(_ sql: String) throws -> Int64? {
    try connection.run { db in try Int64.fetchOne(db, sql: sql) }
  }

  func texts(_ sql: String) throws -> [String] {
    try connection.run { db in try String.fetchAll(db, sql: sql) }
  }
}
