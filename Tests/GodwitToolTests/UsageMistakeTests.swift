import ArgumentParser
import SystemPackage
import Testing

@testable import GodwitTool

@Suite struct UsageMistakeTests {
  @Test func `paths get no conformance that an app's own tool would have to share`() throws {
    let type: Any = FilePath.self
    #expect(!(type is any ExpressibleByArgument.Type))
    #expect(try DiffCommand.parse(["a b", "c"]).first == "a b")
    #expect(throws: (any Error).self) { try DiffCommand.parse(["", "c"]) }
  }

  @Test func `an option for generated stores is refused where none are generated`() throws {
    for option in ["--rows", "--seed"] {
      let words = ["S.sqlite", "--to", "M", option, "20"]
      #expect(throws: (any Error).self) { try CheckCommand.parse(words) }
      #expect(throws: Never.self) { try CheckCommand.parse(words + ["--every-version"]) }
    }
  }

  @Test func `a command that refuses every loss may name some, and not permit all`() throws {
    let words = ["S.sqlite", "--to", "M", "--fail-on-loss"]
    for names in [["--allow-loss=A"], ["--allow-loss", "A", "--allow-loss", "B.c"]] {
      #expect(throws: Never.self) { try MigrateCommand.parse(words + names) }
    }
    #expect {
      try MigrateCommand.parse(LossOptions.completed(words + ["--allow-loss"]))
    } throws: { error in
      MigrateCommand.message(for: error).contains("leave one of them out")
    }
  }

  private static let commands: UsageMistake.Commands = [
    "migrate": ["--to", "--workers", "--memory", "--help"], "status": ["--json"],
    "help": ["--help"], "model": ["--help"], "model export": ["--output", "--help"],
  ]

  private func mistake(_ arguments: String...) -> UsageMistake? {
    UsageMistake(arguments, commands: Self.commands)
  }

  @Test func `a command that there is not is told with the nearest one`() {
    #expect(mistake("migrat", "S.sqlite")?.suggestion == "migrate")
    #expect(mistake("imgrate")?.suggestion == "migrate")
    #expect(mistake("stat")?.suggestion == "status")
    #expect(mistake("wash")?.suggestion == nil)
    #expect(
      mistake("migrat")?.text
        == "Error: godwit has no command migrat. Did you mean migrate?\n  See 'godwit --help' for "
        + "more information.")
  }

  @Test func `help for a command that there is not is a mistake as well`() {
    #expect(mistake("help", "nope")?.word == "nope")
    #expect(mistake("help", "migrate") == nil)
    #expect(mistake("help") == nil)
  }

  @Test func `an option that there is not is told with the nearest one of its command`() {
    let found = mistake("migrate", "S.sqlite", "--wrokers=3", "--to", "M")
    #expect(found?.word == "--wrokers")
    #expect(found?.command == "migrate")
    #expect(found?.suggestion == "--workers")
    #expect(mistake("status", "--workers", "3")?.suggestion == nil)
  }

  @Test func `options and names within a command are those of that one`() {
    #expect(mistake("model", "export", "S", "--output", "M") == nil)
    #expect(mistake("model", "export", "S", "--ouput", "M")?.command == "model export")
    #expect(mistake("model", "export", "S", "--ouput", "M")?.suggestion == "--output")
    #expect(mistake("model", "exprot", "S")?.suggestion == "model export")
    #expect(mistake("model", "--help") == nil)
    #expect(mistake("model") == nil)
    #expect(mistake("help", "model", "export") == nil)
  }

  @Test func `what follows the end of the options is none`() {
    #expect(mistake("migrate", "--to", "M", "--", "--wrokers") == nil)
    #expect(mistake("--version") == nil)
    #expect(mistake() == nil)
  }

  @Test func `a very long word has no near name and costs nothing`() {
    #expect(mistake(String(repeating: "x", count: 1 << 20))?.suggestion == nil)
  }
}
