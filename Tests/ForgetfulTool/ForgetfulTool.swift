import Foundation
import Godwit

/// A program that migrates a store and forgets `GodwitWorker.runIfRequested()`, for the test that
/// Godwit notices.
@main struct ForgetfulTool {
  static func main() async {
    say("main runs\n")
    let paths = CommandLine.arguments.dropFirst().map { URL(filePath: $0) }
    guard paths.count == 2 else { return }
    do {
      let result = try await StoreMigration(store: paths[0], to: paths[1]).run()
      say("\(result.rows) rows\n")
    } catch {
      say("\(error.localizedDescription)\n")
    }
  }

  private static func say(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
