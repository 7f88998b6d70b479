// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "Godwit",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Godwit", targets: ["Godwit"]),
    .library(name: "GodwitTool", targets: ["GodwitTool"]),
    .executable(name: "godwit", targets: ["GodwitExecutable"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: [
    // The order of targets is the order of layers, which `scripts/import-graph` checks: a target
    // depends only on targets declared before it.

    // MARK: Values: what a migration is about; no files, no processes, no clock
    .module("ValueExpressions"),
    .module("ExpressionEvaluation", ["ValueExpressions"]),
    .module("ObjectModel", ["ValueExpressions", .crypto]),
    .module("Schema", ["ObjectModel", "ValueExpressions"]),
    .module("Mapping", ["ObjectModel", "ValueExpressions"]),
    .module("RowPrograms", ["Mapping", "ObjectModel", "Schema", "ValueExpressions"]),
    .module("StorePages", ["SystemCalls", .systemPackage]),
    .module(
      "Planning",
      ["Mapping", "ObjectModel", "RowPrograms", "Schema", "StorePages", .systemPackage]),

    // MARK: Files: what lies on disk
    .module("KeyedArchives", []),
    .module(
      "ModelFiles", ["KeyedArchives", "ObjectModel", "ValueExpressions", .systemPackage]),
    .module(
      "MappingFiles",
      [
        "KeyedArchives", "Mapping", "ModelFiles", "ObjectModel", "ValueExpressions",
        .systemPackage,
      ]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "CSystemShims",
      cSettings: [
        .define("_GNU_SOURCE"), .enableWarning("all"), .enableWarning("extra"),
        .treatAllWarnings(as: .error),
      ]),
    .module("SystemCalls", ["CSystemShims", .systemPackage]),
    .module(
      "StoreFormat",
      [
        "CZlib", "KeyedArchives", "ModelFiles", "ObjectModel", "Schema", "SystemCalls",
        "ValueExpressions", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .systemLibrary(name: "CLMDB", providers: [.apt(["liblmdb-dev"])]),
    .module("LMDB", ["CLMDB", .systemPackage]),
    .module("MigrationStatus", ["LMDB", "SystemCalls", .systemPackage]),

    // MARK: Processes: what runs; the worker and the coordinator never import each other
    .module(
      "Generation",
      [
        "KeyedArchives", "ObjectModel", "Schema", "StoreFormat", "SystemCalls",
        "ValueExpressions", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "ObjectMigration",
      [
        "ExpressionEvaluation", "Mapping", "ObjectModel", "Schema", "StoreFormat", "SystemCalls",
        "ValueExpressions", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "StoreVerification",
      [
        "KeyedArchives", "Mapping", "ModelFiles", "ObjectMigration", "ObjectModel", "Schema",
        "StoreFormat", "SystemCalls", "ValueExpressions", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "MigrationWorker",
      [
        "Mapping", "MigrationStatus", "ObjectMigration", "ObjectModel", "Planning", "RowPrograms",
        "Schema", "StoreFormat", "StorePages", "SystemCalls", .grdb, .grdbSQLite, .logging,
        .systemPackage,
      ], faults: true),
    .module(
      "MigrationCoordinator",
      [
        "Mapping", "MappingFiles", "MigrationStatus", "ModelFiles", "ObjectMigration",
        "ObjectModel", "Planning", "RowPrograms",
        "Schema", "StoreFormat", "StorePages", "SystemCalls", "ValueExpressions", .grdb,
        .grdbSQLite, .logging, .subprocess, .systemPackage,
      ], faults: true),
    .module(
      "Godwit",
      [
        "ExpressionEvaluation", "Generation", "KeyedArchives", "LMDB", "Mapping", "MappingFiles",
        "MigrationCoordinator", "MigrationStatus", "MigrationWorker", "ModelFiles",
        "ObjectMigration", "ObjectModel", "Planning", "RowPrograms", "Schema", "StoreFormat",
        "StorePages", "SystemCalls", "ValueExpressions",
        .logging, .systemPackage,
      ]),
    .module(
      "GodwitTool",
      [
        "Generation", "Godwit", "Mapping", "MappingFiles", "MigrationCoordinator",
        "MigrationStatus", "ModelFiles", "ObjectMigration", "ObjectModel", "Planning", "Schema",
        "StoreFormat", "StoreVerification", "SystemCalls",
        .argumentParser, .logging, .systemPackage,
      ]),
    .executableTarget(
      name: "GodwitExecutable", dependencies: ["GodwitTool"], swiftSettings: strict),

    // MARK: Tests
    .target(
      name: "TestSupport",
      dependencies: ["ObjectModel", "ValueExpressions", .grdb, .systemPackage],
      path: "Tests/TestSupport",
      swiftSettings: strict),
    .target(
      name: "TestPolicies", dependencies: ["Godwit"], path: "Tests/TestPolicies",
      swiftSettings: strict),
    // The tool with policies, for tests that need them in worker processes.
    .executableTarget(
      name: "PolicyTool", dependencies: ["Godwit", "GodwitTool", "TestPolicies"],
      path: "Tests/PolicyTool", swiftSettings: strict),
    .tests(
      of: "Generation",
      [
        "ModelFiles", "ObjectModel", "Schema", "StoreFormat", "SystemCalls", "TestSupport",
        "ValueExpressions", .grdb, .systemPackage,
      ]),
    .tests(of: "KeyedArchives", ["TestSupport"]),
    .tests(of: "Mapping", ["ObjectModel", "TestSupport", "ValueExpressions"]),
    .tests(
      of: "ModelFiles",
      [
        "CZlib", "KeyedArchives", "ObjectModel", "TestSupport", "ValueExpressions", .grdb,
        .systemPackage,
      ]),
    .tests(
      of: "MappingFiles",
      [
        "KeyedArchives", "Mapping", "ModelFiles", "ObjectModel", "TestSupport",
        "ValueExpressions", .systemPackage,
      ]),
    .tests(of: "ObjectModel", ["ValueExpressions"]),
    .tests(
      of: "Planning",
      [
        "Mapping", "ObjectModel", "RowPrograms", "Schema", "TestSupport", "ValueExpressions",
        .grdb, .systemPackage,
      ]),
    .tests(
      of: "RowPrograms",
      ["Mapping", "ObjectModel", "Schema", "TestSupport", "ValueExpressions", .grdb]),
    .tests(of: "Schema", ["ObjectModel", "TestSupport", "ValueExpressions"]),
    .tests(of: "ValueExpressions"),
    .tests(of: "ExpressionEvaluation", ["ValueExpressions"]),
    .tests(
      of: "ObjectMigration",
      [
        "ExpressionEvaluation", "Generation", "Godwit", "Mapping", "MappingFiles", "ModelFiles",
        "ObjectModel",
        "Schema", "StoreFormat", "TestPolicies", "TestSupport", "ValueExpressions", .grdb,
        .systemPackage,
      ]),
    .tests(
      of: "StoreFormat",
      [
        "KeyedArchives", "ObjectModel", "Schema", "SystemCalls", "TestSupport", .grdb,
        .systemPackage,
      ]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "GodwitExecutable", "PolicyTool", "TestSupport", .grdb, .subprocess, .systemPackage,
      ], exclude: ["Scenarios"], swiftSettings: strict),
    .tests(
      of: "GodwitTool", ["MigrationStatus", "SystemCalls", .systemPackage]),
    .tests(of: "StorePages", ["TestSupport", .grdb, .grdbSQLite, .systemPackage]),
    .tests(of: "SystemCalls", ["TestSupport", .systemPackage]),
    .tests(of: "LMDB", ["TestSupport", .systemPackage]),
    .tests(
      of: "MigrationCoordinator",
      [
        "Generation", "Godwit", "LMDB", "Mapping", "MappingFiles", "MigrationStatus",
        "MigrationWorker", "ModelFiles", "ObjectMigration", "ObjectModel", "Planning", "Schema",
        "StoreFormat",
        "StorePages", "SystemCalls", "TestPolicies", "TestSupport", "ValueExpressions", .grdb,
        .logging, .systemPackage,
      ]),
    .tests(
      of: "StoreVerification",
      [
        "KeyedArchives", "ModelFiles", "ObjectModel", "Schema", "StoreFormat", "TestSupport",
        "ValueExpressions", .grdb, .systemPackage,
      ]),
    .tests(
      of: "MigrationWorker",
      [
        "Planning", "RowPrograms", "Schema", "StoreFormat", "SystemCalls", "TestSupport", .grdb,
        .systemPackage,
      ]),
    .tests(of: "MigrationStatus", ["LMDB", "SystemCalls", "TestSupport", .systemPackage]),
  ],
  swiftLanguageModes: [.v6]
)

extension Target {
  /// A library target under the strict settings; `faults` compiles the fault points in.
  static func module(
    _ name: String, _ dependencies: [Dependency] = [], faults: Bool = false
  ) -> Target {
    let injection: [SwiftSetting] =
      faults ? [.define("FAULT_INJECTION", .when(configuration: .debug))] : []
    return .target(
      name: name, dependencies: dependencies, swiftSettings: strict + injection)
  }

  static func tests(of name: String, _ more: [Dependency] = []) -> Target {
    .testTarget(
      name: "\(name)Tests", dependencies: [.byName(name: name)] + more, swiftSettings: strict)
  }
}

extension Target.Dependency {
  static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
  static let crypto = product(name: "Crypto", package: "swift-crypto")
  static let grdb = product(name: "GRDB", package: "GRDB.swift")
  static let grdbSQLite = product(name: "GRDBSQLite", package: "GRDB.swift")
  static let logging = product(name: "Logging", package: "swift-log")
  static let subprocess = product(name: "Subprocess", package: "swift-subprocess")
  static let systemPackage = product(name: "SystemPackage", package: "swift-system")
}
