import Foundation
package import Godwit

/// Answers every function with nil, and does what Core Data does for the rest.
package final class AnsweringPolicy: EntityMigrationPolicy {
  package override func value(
    ofFunction selector: String, arguments: [FunctionValue], manager: MigrationManager
  ) throws -> FunctionValue? { .value(.null) }
}

/// Does at every fifth source key what a test wants of it.
package final class OddPolicy: EntityMigrationPolicy {
  package enum Oddity: String, CaseIterable, Sendable {
    case throwing = "Throwing"
    case cancelling = "Cancelling"
    case forgetful = "Forgetful"
    /// Ends its process, unless a file that the environment names says that it has done so before.
    case dying = "Dying"
    /// Looks for objects that have nothing to do with its own.
    case curious = "Curious"
    case talkative = "Talkative"
  }

  package struct Refusal: Error, CustomStringConvertible {
    package let description = "no more of these"
  }

  private let oddity: Oddity
  package init(_ oddity: Oddity) { self.oddity = oddity }

  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    guard source.primaryKey.isMultiple(of: 5) else {
      return try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }
    switch oddity {
    case .throwing: throw Refusal()
    case .cancelling: manager.cancelMigrationWithError(Refusal())
    case .forgetful:
      _ = try manager.insertNewObject(forEntityName: mapping.destinationEntityName ?? "")
    case .dying:
      let mark = ProcessInfo.processInfo.environment["GODWIT_DIED"] ?? ""
      if !FileManager.default.fileExists(atPath: mark) {
        _ = FileManager.default.createFile(atPath: mark, contents: nil)
        kill(getpid(), SIGKILL)
      }
    case .curious: _ = try? manager.fetch("Lonely", where: nil, limit: 1)
    case .talkative: FileHandle.standardOutput.write(Data("a policy at work\n".utf8))
    }
    if oddity != .forgetful {
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }
  }
}

/// Puts all objects of its mapping into one herd, which it makes with the first of them.
package final class GatheringPolicy: EntityMigrationPolicy {
  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    let herd =
      try manager.userInfo[mapping.name] as? MigrationObject
      ?? manager.insertNewObject(forEntityName: "Herd")
    manager.userInfo[mapping.name] = herd
    for object in made { try object.setObject(herd, for: "herd") }
  }
}

extension MigrationPolicies {
  /// Adds a policy for each oddity under its name, and answering ones under others.
  package mutating func registerOdd(answering names: [String] = []) {
    for oddity in OddPolicy.Oddity.allCases { register(oddity.rawValue) { OddPolicy(oddity) } }
    register("Gathering") { GatheringPolicy() }
    for name in names { register(name) { AnsweringPolicy() } }
  }
}
