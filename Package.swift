// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Set by scripts/build-release: Git's own word would be that of the build before, which is cached.
let commit = (Context.environment["GODWIT_COMMIT"] ?? "")
  .filter { $0.isHexDigit || $0 == "+" }

let package = Package(
  name: "Godwit",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "Godwit", targets: ["Godwit"]),
    .library(name: "GodwitTool", targets: ["GodwitTool"]),
    .executable(name: "godwit", targets: ["GodwitExecutable"]),
    // What answers the requests that godwit-serve takes, which is Sources/GodwitServe.
    .library(name: "LivePages", targets: ["LivePages"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: [
    // The order of targets is the order of layers, which `scripts/import-graph` checks: a target
    // depends only on targets declared before it.

    // MARK: Values: the values of a migration; no files, no processes, no clock
    .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"])]),
    .module("StoreNames", [.systemPackage]),
    .module("Digests", ["CSodium"]),
    .module("Expressions", ["Digests"]),
    .module("ObjectModel", ["Digests", "Expressions"]),
    .module("Schema", ["Expressions", "ObjectModel"]),
    .module("Mapping", ["Expressions", "ObjectModel"]),
    .module("RowPrograms", ["Expressions", "Mapping", "ObjectModel", "Schema"]),
    .module(
      "Planning", ["Mapping", "ObjectModel", "RowPrograms", "Schema", "StoreNames", .systemPackage]),

    // MARK: Files: files on disk
    .module("KeyedArchives"),
    .target(
      name: "CSystemShims",
      cSettings: [
        .define("_GNU_SOURCE"), .define("GODWIT_COMMIT", to: "\"\(commit)\""),
        .enableWarning("all"), .enableWarning("extra"),
        .treatAllWarnings(as: .error),
      ]),
    .module("SystemCalls", ["CSystemShims", .systemPackage]),
    .module(
      "ModelFiles",
      ["Expressions", "KeyedArchives", "ObjectModel", "SystemCalls", .systemPackage]),
    .module(
      "MappingFiles",
      ["Expressions", "KeyedArchives", "Mapping", "ModelFiles", "ObjectModel", .systemPackage]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .module(
      "Pages", ["SystemCalls", .mustache],
      resources: [
        .embedInCode("Templates/page.mustache"), .embedInCode("Templates/style.css"),
        .embedInCode("Templates/timeline.mustache"), .embedInCode("Templates/curves.mustache"),
        .embedInCode("Templates/graph.mustache"), .embedInCode("Templates/pairs.mustache"),
        .embedInCode("Templates/section.mustache"), .embedInCode("Templates/live.mustache"),
        .embedInCode("Templates/live.js"), .embedInCode("Templates/live.css"),
        .embedInCode("Templates/icon.svg"),
      ]),
    .module(
      "StoreFormat",
      [
        "CZlib", "KeyedArchives", "ModelFiles", "ObjectModel", "Schema",
        "SystemCalls", "StoreNames", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .systemLibrary(name: "CLMDB", providers: [.apt(["liblmdb-dev"])]),
    .module("LMDB", ["CLMDB", "SystemCalls", .systemPackage]),
    .module("MigrationStatus", ["LMDB", "SystemCalls", "StoreNames", .systemPackage]),
    .module("Fleets", ["LMDB", "Planning", "SystemCalls", .systemPackage]),
    .module(
      "Survey",
      [
        "Mapping",
        "ObjectModel", "Planning", "RowPrograms", "Schema", "StoreFormat", "SystemCalls",
        "StoreNames", .grdb,
        .systemPackage,
      ]),
    .module(
      "ObjectMigration",
      [
        "Expressions", "Mapping", "ObjectModel", "Schema", "StoreFormat", "SystemCalls", .grdb,
        .grdbSQLite, .systemPackage,
      ]),

    // MARK: Engines: each plans a stage, writes its shards and assembles them
    .module(
      "MigrationEngine",
      [
        "Mapping", "ObjectMigration", "ObjectModel", "Planning", "RowPrograms", "Schema",
        "StoreFormat", "Survey", "SystemCalls", "StoreNames", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "SQLEngine",
      [
        "Mapping", "MigrationEngine", "ObjectMigration", "Planning", "RowPrograms", "Schema",
        "StoreFormat", "SystemCalls", .grdb, .systemPackage,
      ]),
    .module(
      "PageEngine",
      [
        "Mapping", "MigrationEngine", "ObjectMigration", "ObjectModel", "Planning", "RowPrograms",
        "Schema", "StoreFormat", "Survey", "SystemCalls", "StoreNames", .grdb, .grdbSQLite,
        .systemPackage,
      ]),
    .module(
      "ObjectEngine",
      [
        "Mapping", "MigrationEngine", "ObjectMigration", "ObjectModel", "Planning", "RowPrograms",
        "Schema", "SQLEngine", "StoreFormat", "Survey", "SystemCalls", "StoreNames", .systemPackage,
      ]),
    .module(
      "CloneEngine",
      [
        "MigrationEngine", "PageEngine", "Planning", "RowPrograms", "Schema", "SQLEngine",
        "StoreFormat", "Survey", "SystemCalls", "StoreNames", .grdb, .systemPackage,
      ]),
    .module(
      "EngineList",
      [
        "CloneEngine", "MigrationEngine", "ObjectEngine", "ObjectMigration", "PageEngine",
        "Planning", "SQLEngine", "StoreFormat", "Survey",
      ]),

    // MARK: Processes: processes; the worker and the coordinator never import each other
    .module(
      "StoreGenerator",
      [
        "Expressions", "KeyedArchives", "ObjectModel", "Schema", "StoreFormat", "SystemCalls",
        "StoreNames", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "Verification",
      [
        "Expressions", "KeyedArchives", "Mapping", "ModelFiles", "ObjectMigration", "ObjectModel",
        "Schema", "StoreFormat", "SystemCalls", "StoreNames", .grdbSQLite, .systemPackage,
      ]),
    .module(
      "Inspection",
      [
        "Digests", "Expressions", "KeyedArchives", "ObjectMigration", "ObjectModel", "Schema",
        "StoreFormat", "SystemCalls", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "DataExport",
      [
        "Expressions", "Inspection", "KeyedArchives", "ObjectMigration", "ObjectModel", "Schema",
        "StoreFormat", "SystemCalls", .grdb, .grdbSQLite, .systemPackage,
      ]),
    .module(
      "MigrationWorker",
      [
        "EngineList", "MigrationEngine", "MigrationStatus", "Planning", "StoreFormat",
        "SystemCalls", .systemPackage,
      ], faults: true),
    .module(
      "MigrationCoordinator",
      [
        "EngineList", "Expressions", "Mapping", "MappingFiles", "MigrationEngine",
        "MigrationStatus", "ModelFiles", "ObjectMigration", "ObjectModel", "Planning",
        "RowPrograms", "Schema", "StoreFormat", "Survey", "SystemCalls", "StoreNames", .grdb,
        .logging, .subprocess, .systemPackage,
      ], faults: true),
    .module(
      "Godwit",
      [
        "DataExport", "Digests", "EngineList", "Expressions", "Fleets", "Inspection",
        "KeyedArchives", "LMDB",
        "Mapping", "MappingFiles", "MigrationCoordinator", "MigrationEngine", "MigrationStatus",
        "MigrationWorker", "ModelFiles", "ObjectMigration", "ObjectModel", "PageEngine", "Pages",
        "Planning",
        "RowPrograms", "Schema", "StoreFormat", "StoreGenerator", "Survey", "SystemCalls",
        "Verification", "StoreNames", .logging, .metrics, .subprocess, .systemPackage, .tracing,
      ]),
    .module("GodwitTool", ["Godwit", "Mapping", .argumentParser, .logging, .systemPackage]),
    .executableTarget(
      name: "GodwitExecutable", dependencies: ["GodwitTool"], swiftSettings: strict),
    .module(
      "LivePages",
      [
        "Digests", "Godwit", "GodwitTool", "Pages", "SystemCalls", .argumentParser, .systemPackage,
      ]),

    // MARK: Tests
    .target(
      name: "TestSupport",
      dependencies: ["ObjectModel", "Expressions", "Planning", .grdb, .systemPackage],
      path: "Tests/TestSupport",
      swiftSettings: strict),
    .target(
      name: "TestPolicies", dependencies: ["Godwit"], path: "Tests/TestPolicies",
      swiftSettings: strict),
    // The tool with policies, for tests that need them in worker processes.
    .executableTarget(
      name: "PolicyTool", dependencies: ["Godwit", "GodwitTool", "TestPolicies"],
      path: "Tests/PolicyTool", swiftSettings: strict),
    // A program that forgets what makes it its own worker, for the test that this is noticed.
    .executableTarget(
      name: "ForgetfulTool", dependencies: ["Godwit"], path: "Tests/ForgetfulTool",
      swiftSettings: strict),
    .tests(
      of: "StoreGenerator",
      [
        "ModelFiles", "ObjectModel", "Schema", "StoreFormat", "SystemCalls", "TestSupport",
        "Expressions", .grdb, .systemPackage,
      ]),
    .tests(of: "DataExport", ["KeyedArchives"]),
    .tests(of: "KeyedArchives", ["TestSupport"]),
    .tests(of: "Mapping", ["ObjectModel", "TestSupport", "Expressions"]),
    .tests(
      of: "ModelFiles",
      [
        "CZlib", "KeyedArchives", "ObjectModel", "Schema", "TestSupport", "Expressions", .grdb,
        .systemPackage,
      ]),
    .tests(
      of: "MappingFiles",
      [
        "Mapping", "ModelFiles", "ObjectModel", "TestSupport",
        "Expressions", .systemPackage,
      ]),
    .tests(of: "Digests"),
    .tests(of: "Fleets", ["SystemCalls", .systemPackage]),
    .tests(of: "ObjectModel", ["Expressions"]),
    .tests(
      of: "Planning",
      [
        "Mapping", "ObjectModel", "RowPrograms", "Schema", "StoreNames", "TestSupport",
        "Expressions", .systemPackage,
      ]),
    .tests(
      of: "RowPrograms",
      ["Mapping", "ObjectModel", "Schema", "TestSupport", "Expressions", .grdb]),
    .tests(of: "StoreNames", ["MigrationStatus", "Planning", .systemPackage]),
    .tests(of: "Schema", ["ObjectModel", "TestSupport", "Expressions"]),
    .tests(of: "Expressions", ["TestSupport"]),
    .tests(
      of: "ObjectMigration",
      [
        "SystemCalls",
        "StoreGenerator", "Godwit", "Mapping", "MappingFiles", "ModelFiles",
        "ObjectModel", "PageEngine",
        "Schema", "StoreFormat", "TestPolicies", "TestSupport", "Expressions", .grdb,
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
        "GodwitExecutable", "Planning", "PolicyTool", "TestSupport", .grdb, .subprocess,
        .systemPackage,
      ], exclude: ["Scenarios"], swiftSettings: strict),
    // The public library, and nothing below it.
    .tests(
      of: "Godwit",
      [
        "Fleets", "ForgetfulTool", "GodwitExecutable", "Mapping", "MappingFiles",
        "MigrationCoordinator",
        "MigrationStatus", "ModelFiles", "ObjectMigration", "ObjectModel", "PolicyTool", "Schema",
        "Survey", "StoreNames", .grdb, .inMemoryTracing, .metrics, .metricsTestKit, .systemPackage,
        .tracing,
      ]),
    .tests(
      of: "GodwitTool",
      [
        "Godwit", "Mapping", "MigrationCoordinator", "MigrationStatus", "ModelFiles", "Pages",
        "Planning", "StoreFormat", "Survey", "SystemCalls", .argumentParser, .systemPackage,
      ]),
    .tests(
      of: "PageEngine",
      [
        "KeyedArchives", "MigrationEngine", "ObjectModel", "Schema", "StoreFormat", "TestSupport",
        .grdb, .grdbSQLite, .systemPackage,
      ]),
    .tests(of: "Pages"),
    .tests(of: "LivePages", ["Godwit", "MigrationStatus", .systemPackage]),
    .tests(of: "SystemCalls", ["TestSupport", .systemPackage]),
    .tests(of: "LMDB", ["TestSupport", .systemPackage]),
    .tests(
      of: "MigrationCoordinator",
      [
        "CloneEngine", "MigrationEngine", "PageEngine",
        "StoreGenerator", "Godwit", "KeyedArchives", "LMDB", "Mapping", "MappingFiles",
        "MigrationStatus",
        "MigrationWorker", "ModelFiles", "ObjectEngine", "ObjectMigration", "ObjectModel",
        "Planning", "RowPrograms", "Schema",
        "StoreFormat",
        "Survey", "SystemCalls", "TestPolicies", "TestSupport", "Expressions", "StoreNames", .grdb,
        .logging, .systemPackage,
      ], exclude: ["Recordings"]),
    .tests(
      of: "Verification",
      [
        "KeyedArchives", "Mapping", "ModelFiles", "ObjectModel", "Schema", "StoreFormat",
        "SystemCalls", "TestSupport", "Expressions", .grdb, .systemPackage,
      ]),
    .tests(
      of: "Inspection",
      [
        "Godwit", "ModelFiles", "ObjectModel", "Schema", "StoreFormat", "StoreGenerator",
        "TestSupport", "Expressions", .grdb, .systemPackage,
      ]),
    .tests(
      of: "MigrationWorker",
      [
        "MigrationEngine", "PageEngine", "Planning", "RowPrograms", "Schema", "SQLEngine",
        "StoreFormat", "SystemCalls", "TestSupport", .grdb, .systemPackage,
      ]),
    .tests(of: "MigrationStatus", ["CLMDB", "LMDB", "SystemCalls", "TestSupport", .systemPackage]),
  ],
  swiftLanguageModes: [.v6]
)

extension Target {
  /// A library target under the strict settings; `faults` compiles the fault points in.
  static func module(
    _ name: String, _ dependencies: [Dependency] = [], faults: Bool = false,
    resources: [Resource] = []
  ) -> Target {
    let injection: [SwiftSetting] =
      faults ? [.define("FAULT_INJECTION", .when(configuration: .debug))] : []
    return .target(
      name: name, dependencies: dependencies, resources: resources,
      swiftSettings: strict + injection)
  }

  static func tests(
    of name: String, _ more: [Dependency] = [], exclude: [String] = []
  ) -> Target {
    .testTarget(
      name: "\(name)Tests", dependencies: [.byName(name: name)] + more, exclude: exclude,
      swiftSettings: strict)
  }
}

extension Target.Dependency {
  static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
  static let grdb = product(name: "GRDB", package: "GRDB.swift")
  static let grdbSQLite = product(name: "GRDBSQLite", package: "GRDB.swift")
  static let inMemoryTracing = product(
    name: "InMemoryTracing", package: "swift-distributed-tracing")
  static let logging = product(name: "Logging", package: "swift-log")
  static let metrics = product(name: "Metrics", package: "swift-metrics")
  static let metricsTestKit = product(name: "MetricsTestKit", package: "swift-metrics")
  static let mustache = product(name: "Mustache", package: "swift-mustache")
  static let subprocess = product(name: "Subprocess", package: "swift-subprocess")
  static let systemPackage = product(name: "SystemPackage", package: "swift-system")
  static let tracing = product(name: "Tracing", package: "swift-distributed-tracing")
}
