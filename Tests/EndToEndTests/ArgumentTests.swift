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

  @Test(arguments: [["help"], ["--help"], ["help", "model"], ["model", "--help"]])
  func `help that was asked for is an answer`(words: [String]) async throws {
    let outcome = try await BuiltTool.run(words)
    #expect(outcome.status == 0)
    #expect(outcome.standardOutput.contains("SUBCOMMANDS:"))
  }
}
