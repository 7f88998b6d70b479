import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Command lines that name nothing to do, and processes that do not know theirs.
@Suite(.scratchFolder) struct ArgumentTests {
  /// `godwit-serve` is a package of its own, which may not have been built.
  private static let tools = ["godwit", "PolicyTool", "godwit-serve"].filter {
    FileManager.default.fileExists(
      atPath: BuiltTool.path.removingLastComponent().appending($0).string)
  }
  private static let isRoot = ProcessInfo.processInfo.userName == "root"

  private func path(_ tool: String) -> FilePath {
    BuiltTool.path.removingLastComponent().appending(tool)
  }

  @Test(.enabled(if: isRoot, "only root can hide a file of /proc"), arguments: tools)
  func `a process without arguments is a fault`(tool: String) async throws {
    let script = """
      mount --bind /dev/null /proc/$$/maps && exec '\(path(tool))' check /nowhere --to /nowhere
      """
    let outcome = try await BuiltTool.run(
      ["-m", "bash", "-c", script], tool: FilePath("/usr/bin/unshare"))
    #expect(outcome.status == 70, "\(outcome.standardError)")
    #expect(outcome.standardError.contains("nothing was done"), "\(outcome.standardError)")
    #expect(outcome.standardOutput.isEmpty)
  }

  @Test(arguments: ["godwit", "PolicyTool"], [[], ["model"]])
  func `a missing command is a usage error with help`(
    tool: String, words: [String]
  ) async throws {
    let outcome = try await BuiltTool.run(words, tool: path(tool))
    #expect(outcome.status == 64)
    #expect(outcome.standardOutput.isEmpty)
    #expect(outcome.standardError.contains("SUBCOMMANDS:"), "\(outcome.standardError)")
    #expect(outcome.standardError.contains("needs the name of a command"))
  }

  /// Bytes that a shell makes of an escaped name, which Swift's `String` could not hold.
  private func shell(_ script: String) async throws -> BuiltTool.Outcome {
    try await BuiltTool.run(
      ["-c", "cd '\(ScratchFolder.current)' && \(script)"], tool: FilePath("/bin/bash"))
  }

  /// The tool from any folder.
  private static let tool = FilePath(FileManager.default.currentDirectoryPath).pushing(
    BuiltTool.path)

  private static let generate = """
    '\(Self.tool)' generate '\(OutputNameTests.sample)' --version 'Library 1' --rows 20 --output
    """

  @Test(arguments: ["inspect $'S\\xff.sqlite'", "export S.sqlite --output $'out\\xff'"])
  func `an argument that is not UTF-8 is refused, since it would be another file's name`(
    words: String
  ) async throws {
    // The second file has the name that the runtime makes of the first one's.
    let given = try await shell(
      "\(Self.generate) S.sqlite && cp S.sqlite $'S\\xff.sqlite' && cp S.sqlite $'S\\xef\\xbf\\xbd.sqlite'"
    )
    try #require(given.status == 0, "\(given.standardError)")
    let outcome = try await shell("'\(Self.tool)' \(words)")
    #expect(outcome.status == 64, "\(outcome.standardError)")
    #expect(outcome.standardError.contains("is not UTF-8"), "\(outcome.standardError)")
    #expect(outcome.standardOutput.isEmpty)
  }

  @Test func `a working folder whose name is not UTF-8 is refused`() async throws {
    let outcome = try await shell(
      "\(Self.generate) S.sqlite && mkdir $'f\\xff' && cd $'f\\xff' && '\(Self.tool)' inspect ../S.sqlite"
    )
    #expect(outcome.status == 64, "\(outcome.standardError)")
    #expect(outcome.standardError.contains("the working folder"), "\(outcome.standardError)")
  }

  @Test func `a fleet without a store that was named ends with the reason's status`() async throws {
    let outcome = try await shell(
      "\(Self.generate) S.sqlite && cp S.sqlite $'T\\xff.sqlite' && '\(Self.tool)' fleet create F . "
        + "--to '\(OutputNameTests.sample)'")
    #expect(outcome.status == 64, "\(outcome.standardError)")
    #expect(outcome.standardOutput.contains("1 store"), "\(outcome.standardOutput)")
    #expect(outcome.standardError.contains("has a name that is not UTF-8"))
    let missing = try await shell(
      "'\(Self.tool)' fleet create G S.sqlite none.sqlite --to '\(OutputNameTests.sample)'")
    #expect(missing.status == 66, "\(missing.standardError)")
  }

  @Test(arguments: [["help"], ["--help"], ["help", "model"], ["model", "--help"]])
  func `help that was asked for is an answer`(words: [String]) async throws {
    let outcome = try await BuiltTool.run(words)
    #expect(outcome.status == 0)
    #expect(outcome.standardOutput.contains("SUBCOMMANDS:"))
  }
}
