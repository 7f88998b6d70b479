import Foundation
import Planning
import Subprocess
import SystemPackage

/// The tool of this build, started as a user would start it.
enum BuiltTool {
  struct Outcome {
    var status: Int32
    var standardOutput: String
    var standardError: String
  }

  /// Test bundles and executables lie in one folder.
  static let path = FilePath(CommandLine.arguments[0]).removingLastComponent().appending("godwit")

  /// The environment in which it dies at a point.
  static func environment(dyingAt point: FaultPoint?) -> [Environment.Key: String?] {
    point.map { [Environment.Key(stringLiteral: FaultPoint.variable): $0.rawValue] } ?? [:]
  }

  /// Runs it to its end; a migration leaves a record of its outcome only where that is the matter.
  static func run(
    _ arguments: [String], environment: [Environment.Key: String?] = [:], tool: FilePath = path,
    keepsRecord: Bool = false
  ) async throws -> Outcome {
    let leavesRecord = arguments.first == "migrate" && !keepsRecord
    let arguments = arguments + (leavesRecord ? ["--no-record"] : [])
    let result = try await Subprocess.run(
      .path(tool), arguments: Arguments(arguments), environment: .inherit.updating(environment),
      output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
    let status: Int32 =
      switch result.terminationStatus {
      case .exited(let code): code
      case .signaled(let number): -number
      }
    return Outcome(
      status: status, standardOutput: result.standardOutput,
      standardError: result.standardError)
  }
}
