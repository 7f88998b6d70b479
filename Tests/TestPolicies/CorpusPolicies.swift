package import Godwit

// The policies of the corpus, written anew after the words of its README.

/// Finds or creates one Maker per maker of the source cars.
package final class MakerPolicy: EntityMigrationPolicy {
  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let cars = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    guard let name = try source.value("maker").stringValue else { return }
    var makers = manager.userInfo["makers"] as? [String: MigrationObject] ?? [:]
    let maker = try makers[name] ?? manager.insertNewObject(forEntityName: "Maker")
    try maker.setValue(.string(name), for: "name")
    makers[name] = maker
    manager.userInfo["makers"] = makers
    try maker.addObjects(cars, to: "cars")
  }
}

/// Copies what both sides have; step 2 finds authors, step 3 makes a file for each user.
package final class BookPolicy: EntityMigrationPolicy {
  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let book = try manager.insertNewObject(forEntityName: "Book")
    try book.copyAttributes(from: source)
    try manager.associate(sourceInstance: source, withDestinationInstance: book, for: mapping)
    switch mapping.userInfo["modelVersion"] {
    case "2": try relate(book, toAuthorOf: source, manager)
    case "3": try makeFiles(of: source, book, manager)
    default: break
    }
  }

  private func relate(
    _ book: MigrationObject, toAuthorOf source: MigrationObject, _ manager: MigrationManager
  ) throws {
    guard let name = try source.value("authorName").stringValue else { return }
    var authors = manager.userInfo["authors"] as? [String: MigrationObject] ?? [:]
    let author = try authors[name] ?? manager.insertNewObject(forEntityName: "Author")
    try author.setValue(.string(name), for: "name")
    authors[name] = author
    manager.userInfo["authors"] = authors
    try book.addObjects([author], to: "authors")
  }

  private func makeFiles(
    of source: MigrationObject, _ book: MigrationObject, _ manager: MigrationManager
  ) throws {
    for user in try source.objects("users") {
      let file = try manager.insertNewObject(forEntityName: "File")
      try file.setValue(try source.value("fileURL"), for: "fileURL")
      try file.setObject(book, for: "book")
      let same = try manager.fetch(
        "User", where: "userId", equals: try user.value("userId"), limit: 1)
      try file.setObject(same.first, for: "user")
    }
  }
}

/// Copies what both sides have.
package final class UserPolicy: EntityMigrationPolicy {
  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let user = try manager.insertNewObject(forEntityName: "User")
    try user.copyAttributes(from: source)
    try manager.associate(sourceInstance: source, withDestinationInstance: user, for: mapping)
  }
}

/// Gives every post a color of its own.
package final class PostPolicy: EntityMigrationPolicy {
  private var number: Int64 = 0

  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let posts = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    let color = try manager.insertNewObject(forEntityName: "Color")
    number += 1
    try color.setValue(.string("color \(number)"), for: "colorID")
    try color.setValue(try source.value("hexColor"), for: "hex")
    for post in posts { try post.setObject(color, for: "color") }
  }
}

extension MigrationPolicies {
  /// The policies that the corpus's mapping models name.
  package static var ofCorpus: MigrationPolicies {
    var policies = MigrationPolicies()
    policies.register("REPLACE_AT_RUNTIME.V2to3MakerPolicy") { MakerPolicy() }
    policies.register("MHWBookToBookPolicy") { BookPolicy() }
    policies.register("MHWUserToUserPolicy") { UserPolicy() }
    policies.register("CoreDataMigration_Example.Post2ToPost3MigrationPolicy") { PostPolicy() }
    return policies
  }
}
