import Foundation
import Godwit

/// Brings a store to the current version of a model, without the command line of `godwit`.
///
///     LibraryUpdate Library.sqlite Library.xcdatamodeld [Entity.property …]
///
/// The names are what may be lost besides what the model itself removes.
@main struct LibraryUpdate {
  static func main() async {
    GodwitWorker.runIfRequested()  // this executable is its own worker
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count >= 2 else { return end(64, "name a store and a model") }
    var migration = StoreMigration(
      store: URL(filePath: arguments[0]), to: URL(filePath: arguments[1]))
    if arguments.count > 2 { migration.choices.allowedLoss = .init(of: arguments.dropFirst(2)) }
    do {
      try await update(migration)
    } catch {
      for reason in error.reasons { say("\(reason.coreDataCode ?? 0): \(reason)") }
      end(error.exitStatus.rawValue, error.localizedDescription)
    }
  }

  private static func update(_ migration: StoreMigration) async throws(MigrationFailure) {
    let preparation = try await migration.prepare()
    if let refusal = preparation.refusal { throw refusal }
    guard preparation.isNeeded else { return say("up to date") }
    for step in preparation.steps {
      say("from \(step.from.joined(separator: ", ")) to \(step.to.joined(separator: ", "))")
    }
    for loss in preparation.losses { say("loses \(loss)") }

    let running = migration.start()
    for await progress in running.progress where progress.phase == .done { say("done") }
    let result = try await running.result
    for account in result.accounts {
      say("\(account.entity): \(account.objectsIn) in, \(account.objectsOut) out")
    }
    guard let old = result.oldStore else { return }
    let report = try await StoreVerification(of: migration.store, madeFrom: old).run()
    say(report.verdict)
    guard report.isAlike else { throw report.failure }
  }

  private static func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }

  private static func end(_ status: Int32, _ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(status)
  }
}
