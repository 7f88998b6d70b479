import Godwit
import GodwitTool

/// Copies the attributes that both versions have, and nothing else.
class CopyingPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    guard let name = mapping.destinationEntityName else { return }
    let object = try manager.insertNewObject(forEntityName: name)
    try object.copyAttributes(from: source)
    try complete(object, of: source, mapping, manager)
    try manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
  }

  /// Does what is left to do for a copied object.
  func complete(
    _ object: MigrationObject, of source: MigrationObject, _ mapping: EntityMapping,
    _ manager: MigrationManager
  ) throws {}
}

/// Takes apart what a book held: its authors in the step to version 2, its files in that to 3.
final class BookPolicy: CopyingPolicy {
  override func complete(
    _ book: MigrationObject, of source: MigrationObject, _ mapping: EntityMapping,
    _ manager: MigrationManager
  ) throws {
    switch mapping.userInfo["modelVersion"] {
    case "2":
      guard let name = try source.value("authorName").stringValue else { return }
      try book.addObjects([author(named: name, manager)], to: "authors")
    case "3":
      for user in try source.objects("users") { try addFile(of: source, book, user, manager) }
    default: break
    }
  }

  private func author(named name: String, _ manager: MigrationManager) throws -> MigrationObject {
    let found = try manager.fetch("Author", where: "name", equals: .string(name), limit: 1)
    if let author = found.first { return author }
    let author = try manager.insertNewObject(forEntityName: "Author")
    try author.setValue(.string(name), for: "name")
    return author
  }

  /// The users are there already: an earlier mapping model of the same step has made them.
  private func addFile(
    of source: MigrationObject, _ book: MigrationObject, _ user: MigrationObject,
    _ manager: MigrationManager
  ) throws {
    let file = try manager.insertNewObject(forEntityName: "File")
    try file.setValue(try source.value("fileURL"), for: "fileURL")
    try file.setObject(book, for: "book")
    let users = try manager.fetch("User", where: "userId", equals: user.value("userId"), limit: 1)
    try file.setObject(users.first, for: "user")
  }
}

@main struct Bookstore {
  static func main() async {
    var policies = MigrationPolicies()
    policies.register("MHWBookToBookPolicy") { BookPolicy() }
    policies.register("MHWUserToUserPolicy") { CopyingPolicy() }
    await GodwitTool.run(policies: policies)
  }
}
