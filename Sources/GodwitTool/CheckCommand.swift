import ArgumentParser
import Godwit
import MigrationCoordinator
import SystemPackage

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tells whether stores need a migration and can be migrated; writes nothing.",
    discussion: "Ends with 78 if a store cannot be migrated; all reasons are listed.")

  @Argument(help: "The SQLite stores to check.")
  var stores: [FilePath]

  @OptionGroup var model: ModelOptions
  @OptionGroup var route: RouteOptions

  @OptionGroup var loss: LossOptions

  @Flag(help: "Print JSON.")
  var json = false

  private struct Answer: Encodable {
    var store: String
    var isNeeded: Bool?
    var isPossible: Bool
    var reasons: [String]
    var losses: [Loss]
    var exitStatus: Int32
    var coreDataCode: Int?
  }

  func validate() throws {
    if stores.isEmpty { throw ValidationError("Name at least one store.") }
  }

  func run() throws {
    let target = try TargetModel(model.target, configuration: model.configuration)
    let answers = stores.map { answer($0, target) }
    if json { Terminal.standardOutput.line(try JSONOutput.text(answers)) }
    for answer in answers where !json { tell(answer) }
    if let worst = answers.map(\.exitStatus).max(), worst != 0 { throw ExitCode(worst) }
  }

  private func answer(_ store: FilePath, _ target: TargetModel) -> Answer {
    var request = MigrationRequest(store: store, target: model.target, workers: 1, memory: 64 << 20)
    request.models = model.models
    request.take(route)
    request.take(loss)
    do {
      return try Preview.with(request, target) { preview in
        try preview.requirePossible(request)
        return Answer(
          store: "\(store)", isNeeded: preview.isNeeded, isPossible: true, reasons: [],
          losses: preview.losses, exitStatus: 0)
      }
    } catch {
      let failure = MigrationFailure(error)
      return Answer(
        store: "\(store)", isNeeded: nil, isPossible: false, reasons: failure.sentences,
        losses: [], exitStatus: failure.exitStatus.rawValue, coreDataCode: failure.coreDataCode)
    }
  }

  private func tell(_ answer: Answer) {
    for reason in answer.reasons { Terminal.standardError.line("godwit: \(reason)") }
    guard answer.isPossible, let isNeeded = answer.isNeeded else { return }
    Terminal.standardOutput.line(
      "\(answer.store): \(isNeeded ? "needs a migration, which is possible" : "has this model already")."
    )
    for loss in answer.losses { Terminal.standardOutput.line("  loses \(loss.sentence)") }
  }
}
