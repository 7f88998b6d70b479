import ArgumentParser
import Godwit
import MigrationCoordinator
import Planning
import RowPrograms
import Schema
import SystemPackage

struct PlanCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Prints what a migration would do; writes nothing.")

  @Argument(help: "The SQLite store to migrate.")
  var store: FilePath

  @OptionGroup var model: ModelOptions
  @OptionGroup var route: RouteOptions
  @OptionGroup var work: WorkOptions
  @OptionGroup var loss: LossOptions

  @Flag(help: "Print JSON.")
  var json = false

  /// A plan with what the migration would lose and take.
  private struct Output: Encodable {
    var isNeeded: Bool
    var route: [MigrationReport.Step]
    var unusedMappings: [MigrationReport.UnusedMapping]
    /// Of the first leg; nil where it runs object by object.
    var plan: MigrationPlan?
    var losses: [Loss]
    var rows: Int64
    var bytes: Int64
    var diskNeeded: Int64
    var secondsEstimated: Double
  }

  /// Bytes of source per second and worker, as measured on two cores and a fast disk.
  private static func pace(writingPages: Bool) -> Double { writingPages ? 800e6 : 40e6 }

  func run() throws {
    do {
      try plan()
    } catch {
      // What stands in the way is what was asked for.
      let failure = MigrationFailure(error)
      guard failure.exitStatus == .impossible, !json else { throw failure }
      for sentence in failure.sentences { Terminal.standardOutput.line(sentence) }
      throw ExitCode(failure.exitStatus.rawValue)
    }
  }

  private func plan() throws {
    let target = try TargetModel(model.target, configuration: model.configuration)
    var request = MigrationRequest(store: store, model, route, work)
    request.policies = GodwitTool.policies.factories
    request.take(loss)
    try MigrationPreview.with(request, target) { preview in
      try preview.requirePossible()
      let seconds =
        Double(preview.plan?.bytes ?? 0)
        / (Self.pace(writingPages: preview.writesPages) * Double(work.workers)) + 0.05
      let output = Output(
        isNeeded: preview.isNeeded, route: MigrationReport.Step.steps(of: preview.stages),
        unusedMappings: preview.route?.unusedMappings ?? [], plan: preview.plan,
        losses: preview.losses,
        rows: preview.plan?.rows ?? 0, bytes: preview.plan?.bytes ?? 0,
        diskNeeded: preview.isNeeded ? preview.diskNeed.bytes : 0, secondsEstimated: seconds)
      if json {
        Terminal.standardOutput.line(try JSONOutput.text(output))
      } else {
        Terminal.standardOutput.lines(text(output, preview))
      }
    }
  }

  private func text(_ output: Output, _ preview: MigrationPreview) -> String {
    guard output.isNeeded else { return "\(store) has this model already: nothing to do." }
    var lines = output.route.map(Self.text)
    for mapping in output.unusedMappings {
      lines.append("does not use \(mapping.path): \(mapping.reason).")
    }
    lines +=
      output.plan.map { text($0, output) } ?? [
        "\(store): object by object; about \(ByteText(output.diskNeeded)) of disk."
      ]
    for loss in output.losses { lines.append("loses \(loss.sentence)") }
    for omission in preview.assessment?.destination.omissions ?? [] {
      lines.append(
        "leaves out index \(omission.index) of \(omission.entity): \(omission.reason).")
    }
    return lines.joined(separator: "\n")
  }

  private static func text(_ step: MigrationReport.Step) -> String {
    let by = step.mappings.isEmpty ? "inferred" : "by \(step.mappings.joined(separator: ", then "))"
    let cut: String? =
      switch step.cut {
      case nil: nil
      case .mappingModel: "a mapping model's step needs the store before it"
      case .notComposable: "this step needs the store before it"
      case .stepwise: "step by step"
      }
    return "stage \(step.stage): \(VersionText(step.from)) to \(VersionText(step.to)), \(by)"
      + (cut.map { "; begins with a store of its own: \($0)" } ?? "")
  }

  private func text(_ plan: MigrationPlan, _ output: Output) -> [String] {
    var lines = [
      "\(store): \(output.rows) rows, \(ByteText(output.bytes)), in \(plan.workOrders.count) work "
        + "orders for \(work.workers) workers; about "
        + "\(DurationText(seconds: output.secondsEstimated)) and \(ByteText(output.diskNeeded)) of disk."
    ]
    for partition in plan.partitions {
      lines.append(
        "partition \(partition.number): \(partition.rows) rows, \(ByteText(partition.bytes)), "
          + partition.tables.joined(separator: ", "))
      for order in plan.workOrders where order.partition == partition.number {
        lines.append("  work order \(order.number): \(order.rows) rows, \(Self.pieces(order))")
      }
    }
    return lines
  }

  private static func pieces(_ order: WorkOrder) -> String {
    order.pieces.map { piece in
      let isWhole = piece.keys.first == .min && piece.keys.last == .max
      if isWhole { return piece.destinationTable }
      let first = piece.keys.first == .min ? "" : "\(piece.keys.first)"
      let last = piece.keys.last == .max ? "" : "\(piece.keys.last)"
      return "\(piece.destinationTable) \(first)…\(last)"
    }.joined(separator: ", ")
  }
}
