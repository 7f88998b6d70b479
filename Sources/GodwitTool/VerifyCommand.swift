import ArgumentParser
import SystemPackage

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Compares a migrated store with the old one, object by object."
  )

  @Argument(help: "The store before the migration.")
  var old: FilePath

  @Argument(help: "The store after it.")
  var new: FilePath

  func run() throws {}
}
