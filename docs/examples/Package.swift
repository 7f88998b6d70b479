// swift-tools-version: 6.2

import PackageDescription

/// Executables that are `godwit` with policies of their own, and one that uses the library alone:
/// each is coordinator and worker in one.
let package = Package(
  name: "GodwitExamples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Godwit", path: "../..")],
  targets: ["LibraryExample", "LibraryUpdate", "CarMakers", "Bookstore", "ColoredPosts"].map {
    name in
    .executableTarget(
      name: name,
      dependencies: [
        .product(name: "Godwit", package: "Godwit"),
        .product(name: "GodwitTool", package: "Godwit"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")])
  },
  swiftLanguageModes: [.v6]
)
