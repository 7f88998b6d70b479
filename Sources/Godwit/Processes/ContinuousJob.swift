import Foundation
package import SystemPackage

/// The environment of a job on a server that runs tests.
package struct ContinuousJob: Hashable, Sendable {
  /// The folder of the repository; by default the current one.
  package var root: FilePath
  /// The current folder.
  package var folder: FilePath
  /// The file to which summaries in Markdown are appended; nil where there is none.
  package var summary: FilePath?

  /// Reads the variables of GitHub Actions and GitLab.
  package init(environment: [String: String], folder: FilePath) {
    func path(_ name: String) -> FilePath? {
      environment[name].flatMap { $0.isEmpty ? nil : FilePath($0) }
    }
    root = path("GITHUB_WORKSPACE") ?? path("CI_PROJECT_DIR") ?? folder
    summary = path("GITHUB_STEP_SUMMARY")
    self.folder = folder
  }

  /// The job of this process.
  package static var current: ContinuousJob {
    ContinuousJob(
      environment: ProcessInfo.processInfo.environment,
      folder: FilePath(FileManager.default.currentDirectoryPath))
  }
}
