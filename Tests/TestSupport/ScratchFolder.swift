import Foundation
package import SystemPackage
package import Testing

/// Gives each test case a folder of its own, and removes it afterwards.
package struct ScratchFolder: TestTrait, SuiteTrait, TestScoping {
  @TaskLocal private static var folder: FilePath?

  /// The folder of the running test case, which must have the trait `.scratchFolder`.
  package static var current: FilePath {
    guard let folder else { preconditionFailure("the test lacks the trait .scratchFolder") }
    return folder
  }

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    let folder = FilePath(FileManager.default.temporaryDirectory.path)
      .appending("godwit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      atPath: folder.string, withIntermediateDirectories: true)
    defer {
      do {
        try FileManager.default.removeItem(atPath: folder.string)
      } catch {
        Issue.record(error, "the scratch folder \(folder) stays behind")
      }
    }
    try await Self.$folder.withValue(folder, operation: function)
  }
}

extension Trait where Self == ScratchFolder {
  /// A folder for this test case alone: `ScratchFolder.current`.
  package static var scratchFolder: Self { Self() }
}
