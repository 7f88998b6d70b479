import ArgumentParser
import Godwit
import SystemPackage

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tells whether stores need a migration and can be migrated; writes nothing.",
    discussion: """
      Ends with 0 if no store needs a migration or each that does can be migrated, with 78 if one \
      cannot; all reasons are listed. With --exit-status it ends with 1 if one needs a migration \
      and all that do can be migrated.
      """)

  /// The exit status with `--exit-status` for stores that need a migration and can be migrated.
  static let neededStatus: Int32 = 1

  @Argument(help: "The SQLite stores to check.")
  var stores: [FilePath]

  @OptionGroup var model: ModelOptions
  @OptionGroup var route: RouteOptions
  @OptionGroup var loss: LossOptions
  @OptionGroup var source: SourceOptions

  @Flag(help: "End with 1 if a migration is needed and possible.")
  var exitStatus = false

  @Flag(help: "Print JSON.")
  var json = false

  private struct Answer: Encodable {
    var store: String
    var isNeeded: Bool?
    var isPossible: Bool
    /// The names of the store's version and of the target; empty where they have none.
    var from: [String] = []
    var to: [String] = []
    /// Later steps of the route, whose stores do not exist yet: their rows could not be checked.
    var stepsNotLookedAt = 0
    var reasons: [String] = []
    var losses: [StoreMigration.Loss] = []
    /// What a salvage takes and loses; nil where the store is not damaged, or where nobody asked.
    var salvage: StoreMigration.Salvage?
    var defects: [StoreMigration.Defect] = []
    /// What is carried over of CloudKit mirroring; nil where nothing is.
    var mirroring: String?
    var exitStatus: Int32
    var coreDataCode: Int?
  }

  func validate() throws {
    if stores.isEmpty { throw ValidationError("Name at least one store.") }
  }

  func run() async throws {
    let target = try MigrationTarget(model.target, configuration: model.configuration)
    var answers: [Answer] = []
    for store in stores { answers.append(await answer(store, target: target)) }
    if json { Terminal.standardOutput.line(json: try JSONOutput.text(value: answers)) }
    for answer in answers where !json { show(answer) }
    if let worst = answers.map(\.exitStatus).max(), worst != 0 { throw ExitCode(worst) }
  }

  private func answer(_ store: FilePath, target: MigrationTarget) async -> Answer {
    var migration = StoreMigration(
      store: store, model: model, route: route, source: source, loss: loss)
    migration.workers = 1
    migration.memory = 64 << 20
    var answer = Answer(store: "\(store)", isPossible: false, exitStatus: 0)
    do {
      let found = try await migration.prepare(for: target)
      answer.isNeeded = found.isNeeded
      (answer.from, answer.to, answer.defects) = (found.from, found.to, found.defects)
      answer.salvage = found.salvage
      if let refusal = found.refusal { throw refusal }
      answer.isPossible = true
      answer.losses = found.losses
      answer.mirroring = found.mirroringNote
      answer.stepsNotLookedAt = found.stepsNotSurveyed
      answer.exitStatus = exitStatus && found.isNeeded ? Self.neededStatus : 0
    } catch {
      let failure = MigrationFailure(error)
      answer.reasons = failure.sentences
      answer.exitStatus = failure.exitStatus.rawValue
      answer.coreDataCode = failure.coreDataCode
    }
    return answer
  }

  private func show(_ answer: Answer) {
    let out = Terminal.standardOutput
    guard answer.isPossible else {
      for reason in answer.reasons { out.line(text: reason) }
      for note in answer.salvage?.notes ?? [] { out.line(text: "  \(note)") }
      for defect in answer.defects { out.line(text: "  has \(defect)") }
      return
    }
    guard answer.isNeeded == true else {
      out.line(text: "\(answer.store): has this model already.")
      for note in answer.salvage?.notes ?? [] { out.line(text: "  \(note)") }
      return
    }
    out.line(
      text: "\(answer.store): from \(VersionText(answer.from)) to \(VersionText(answer.to)): "
        + "needs a migration, which is possible.")
    for note in answer.salvage?.notes ?? [] { out.line(text: "  \(note)") }
    if let note = answer.mirroring { out.line(text: "  \(note)") }
    for loss in answer.losses { out.line(text: "  loses \(loss)") }
    for defect in answer.defects { out.line(text: "  has \(defect)") }
    if answer.stepsNotLookedAt > 0 {
      out.line(
        text:
          "  \(answer.stepsNotLookedAt) later step\(answer.stepsNotLookedAt == 1 ? " begins" : "s begin") "
          + "with a store that is not there yet: what its rows demand shows when it is made"
          + (loss.settlesDefects ? ", and is settled by the same choices." : "."))
    }
  }
}
