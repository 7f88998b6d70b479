import ArgumentParser
import Godwit
import MigrationCoordinator
import SystemPackage

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tells whether stores need a migration and can be migrated; writes nothing.",
    discussion: """
      Ends with 0 if no store needs a migration or each that does can be migrated, with 78 if one \
      cannot; all reasons are listed. With --exit-status it ends with 1 if one needs a migration \
      and all that do can be migrated.
      """)

  /// What `--exit-status` tells of stores that need a migration and can be migrated.
  static let neededStatus: Int32 = 1

  @Argument(help: "The SQLite stores to check.")
  var stores: [FilePath]

  @OptionGroup var model: ModelOptions
  @OptionGroup var route: RouteOptions
  @OptionGroup var loss: LossOptions

  @Flag(help: "End with 1 if a migration is needed and possible.")
  var exitStatus = false

  @Flag(help: "Print JSON.")
  var json = false

  private struct Answer: Encodable {
    var store: String
    var isNeeded: Bool?
    var isPossible: Bool
    /// The names of the versions that the store has and gets; empty where they have none.
    var from: [String] = []
    var to: [String] = []
    /// Steps that begin with stores which are not there yet: their rows could not be looked at.
    var stepsNotLookedAt = 0
    var reasons: [String] = []
    var losses: [Loss] = []
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
    request.configuration = model.configuration
    request.models = model.models
    request.policies = GodwitTool.policies.factories
    request.take(route)
    request.take(loss)
    var answer = Answer(store: "\(store)", isPossible: false, exitStatus: 0)
    do {
      try MigrationPreview.with(request, target) { preview in
        answer.isNeeded = preview.isNeeded
        (answer.from, answer.to) = preview.prepared.versions ?? ([], [])
        try preview.requirePossible()
        answer.isPossible = true
        answer.losses = preview.losses
        answer.stepsNotLookedAt = preview.stages.dropFirst().reduce(0) { $0 + $1.steps.count }
        answer.exitStatus = exitStatus && preview.isNeeded ? Self.neededStatus : 0
      }
    } catch {
      let failure = MigrationFailure(error)
      answer.reasons = failure.sentences
      answer.exitStatus = failure.exitStatus.rawValue
      answer.coreDataCode = failure.coreDataCode
    }
    return answer
  }

  private func tell(_ answer: Answer) {
    let out = Terminal.standardOutput
    guard answer.isPossible else {
      for reason in answer.reasons { out.line(reason) }
      return
    }
    guard answer.isNeeded == true else {
      return out.line("\(answer.store): has this model already.")
    }
    out.line(
      "\(answer.store): from \(VersionText(answer.from)) to \(VersionText(answer.to)): "
        + "needs a migration, which is possible.")
    for loss in answer.losses { out.line("  loses \(loss.sentence)") }
    if answer.stepsNotLookedAt > 0 {
      out.line(
        "  \(answer.stepsNotLookedAt) later step\(answer.stepsNotLookedAt == 1 ? " begins" : "s begin") "
          + "with a store that is not there yet: what its rows demand shows when it is made.")
    }
  }
}
