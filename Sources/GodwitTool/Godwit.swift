import ArgumentParser

@main
struct GodwitTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "godwit",
    abstract: "Migrates Core Data SQLite stores without Core Data.",
    version: "0.1.0")
}
