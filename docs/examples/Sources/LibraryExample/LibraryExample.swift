import Foundation
import Godwit
import GodwitTool

/// Writes addresses alike; the mapping file calls it for the attribute `email`.
final class ReaderPolicy: EntityMigrationPolicy {
  /// No reader depends on another, so workers can share them.
  override var objectsAreIndependent: Bool { true }

  override func value(
    ofFunction selector: String, arguments: [FunctionValue], manager: MigrationManager
  ) throws -> FunctionValue? {
    guard selector == "normalized:", case .value(let address)? = arguments.first else { return nil }
    return .value(address.stringValue.map { .string($0.lowercased()) } ?? .null)
  }
}

/// Keeps what the mapping makes, but for ratings that are none: those from 0 to 5 are.
final class VolumePolicy: EntityMigrationPolicy {
  override var objectsAreIndependent: Bool { true }

  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    guard let rating = try source.value("rating").integerValue, !(0...5).contains(rating) else {
      return
    }
    for volume in try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    {
      try volume.setValue(nil, for: "rating")
    }
  }
}

/// Makes authors itself: no mapping fills what it does not set.
final class AuthorPolicy: EntityMigrationPolicy {
  override var objectsAreIndependent: Bool { true }

  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let author = try manager.insertNewObject(forEntityName: "Author")
    try author.copyAttributes(from: source)
    let name = try author.value("name").stringValue ?? ""
    try author.setValue(
      .string(name.trimmingCharacters(in: CharacterSet(charactersIn: " "))), for: "name")
    try manager.associate(sourceInstance: source, withDestinationInstance: author, for: mapping)
  }
}

/// Puts each shelf into a branch, which its label begins with; a branch is made when first needed.
final class ShelfPolicy: EntityMigrationPolicy {
  private var branches: [String: MigrationObject] = [:]

  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let shelves = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    let city = (try source.value("label").stringValue ?? "").prefix(1).uppercased()
    try branch(in: city, manager).addObjects(shelves, to: "shelves")
  }

  private func branch(in city: String, _ manager: MigrationManager) throws -> MigrationObject {
    if let known = branches[city] { return known }
    let branch = try manager.insertNewObject(forEntityName: "Branch")
    try branch.setValue(.string(city), for: "city")
    branches[city] = branch
    return branch
  }
}

@main struct LibraryExample {
  static func main() async {
    var policies = MigrationPolicies()
    policies.register("Library.AuthorPolicy") { AuthorPolicy() }
    policies.register("Library.VolumePolicy") { VolumePolicy() }
    policies.register("Library.ReaderPolicy") { ReaderPolicy() }
    policies.register("Library.ShelfPolicy") { ShelfPolicy() }
    await GodwitTool.run(policies: policies)
  }
}
