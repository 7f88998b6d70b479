// swift-tools-version: 6.2

import PackageDescription

/// `godwit-serve`, the server of live pages, and what it needs of a web server: the package that it
/// depends on needs nothing of that.
let package = Package(
  name: "GodwitServe",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "godwit-serve", targets: ["GodwitServe"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    // Without its traits it needs no package for configuration files.
    .package(
      url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(name: "Godwit", path: "../.."),
  ],
  targets: [
    .executableTarget(
      name: "GodwitServe",
      dependencies: [
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "LivePages", package: "Godwit"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Server",
      swiftSettings: [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
