import ArgumentParser
import SystemPackage

struct GenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "generate")
  func run() throws {}
}
