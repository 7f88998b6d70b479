import ArgumentParser
import Godwit
import SystemPackage

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Prints the plan of a migration; writes nothing.",
    discussion: """
      Shows the steps from version to version, partitions, work orders, time and disk space, \
      losses, defects in rows, and every reason against the migration.
      """,
    examples: [
      "godwit plan Shop.sqlite --to Shop.xcdatamodeld",
      "godwit plan Shop.sqlite --to Shop.xcdatamodeld --progressive --json",
      "godwit plan Shop.sqlite --to Shop.xcdatamodeld --graph plan.svg",
    ],
    statuses: [
      0: "the store can be migrated, or already has this model",
      78: "the store cannot be migrated, or would lose data without consent",
    ],
    page: "docs/reference/migration.md")

  @Argument(help: "The SQLite store to migrate.")
  var store: FilePath

  @OptionGroup(title: "Model")
  var model: ModelOptions
  @OptionGroup(title: "Route")
  var route: RouteOptions
  @OptionGroup(title: "Work")
  var work: WorkOptions
  @OptionGroup(title: "Losses and defects")
  var loss: LossOptions

  @Option(
    help: ArgumentHelp(
      "Draw the tables, their partitions and references to this file (.svg or .dot).",
      valueName: "file"))
  var graph: FilePath?

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    do {
      try await plan()
    } catch {
      // The obstacles are the requested result.
      let failure = MigrationFailure(error)
      guard failure.exitStatus == .impossible, !json else { throw failure }
      for sentence in failure.sentences { Terminal.standardOutput.line(text: sentence) }
      throw ExitCode(failure.exitStatus.rawValue)
    }
  }

  private var migration: StoreMigration {
    var migration = StoreMigration(store: store, model: model, route: route, loss: loss)
    migration.take(work)
    return migration
  }

  private func plan() async throws {
    let migration = migration
    let file = try graph.map { try MigrationGraphFile($0, of: migration) }
    let preparation = try await ReadingBar("planning for", store).during {
      try await migration.prepare(trying: StoreMigration.triedObjects)
    }
    if let refusal = preparation.refusal { throw refusal }
    try file?.write(preparation)
    if json {
      Terminal.standardOutput.line(json: try JSONOutput.text(value: preparation))
    } else {
      Terminal.standardOutput.lines(text: text(preparation: preparation))
    }
  }

  private func text(preparation: StoreMigration.Preparation) -> String {
    guard preparation.isNeeded else {
      return (["\(store) already has this model: nothing to do."] + [preparation.indexNote])
        .compactMap(\.self).joined(separator: "\n")
    }
    var lines = preparation.steps.map(Self.text)
    for mapping in preparation.unusedMappings {
      lines.append("does not use \(mapping.path): \(mapping.reason).")
    }
    lines += preparation.fileNotes
    lines +=
      preparation.engine == .objects
      ? [objectText(preparation: preparation)]
      : workText(preparation: preparation)
    lines += preparation.notes
    lines += [preparation.diskNote].compactMap(\.self)
    if let note = preparation.mirroringNote { lines.append(note) }
    for made in preparation.newObjects { lines.append("makes \(made)") }
    for loss in preparation.losses { lines.append("loses \(loss)") }
    if let note = preparation.untriedNote { lines.append(note) }
    lines += preparation.salvage?.notes ?? []
    for defect in preparation.defects { lines.append("has \(defect)") }
    return lines.joined(separator: "\n")
  }

  private func objectText(preparation: StoreMigration.Preparation) -> String {
    let reason = preparation.engineReason.map { ", as \($0)" } ?? ""
    return "\(store): object by object\(reason); \(Self.timeText(preparation)) and "
      + "\(ByteText(preparation.diskNeeded)) of disk."
  }

  private static func timeText(_ preparation: StoreMigration.Preparation) -> String {
    let seconds = (preparation.expectedDuration ?? .zero) / .seconds(1)
    return "about \(DurationText(seconds: seconds))"
      + (preparation.callsPolicies ? " besides what policies do," : "")
  }

  private static func text(step: StoreMigration.Step) -> String {
    let by =
      step.mappings.isEmpty
      ? "inferred" : "by \(step.mappings.map(\.string).joined(separator: ", then "))"
    let cut: String? =
      switch step.cut {
      case nil: nil
      case .mappingModel: "a mapping model's step needs the store before it"
      case .notComposable: "this step needs the store before it"
      case .stepwise: "step by step"
      }
    let isNamed = !(step.from.isEmpty && step.to.isEmpty)
    let versions = isNamed ? "\(VersionText(step.from)) to \(VersionText(step.to)), " : ""
    return "stage \(step.stage): \(versions)\(by)"
      + (cut.map { "; begins with a store of its own: \($0)" } ?? "")
  }

  private func workText(preparation: StoreMigration.Preparation) -> [String] {
    var lines = [
      "\(store): \(CountText(preparation.rows, "row")), about \(ByteText(preparation.bytes)), in "
        + "\(CountText(preparation.workOrders.count, "work order")) for "
        + "\(CountText(migration.resources.workers, "worker")); \(Self.timeText(preparation)) and "
        + "\(ByteText(preparation.diskNeeded)) of disk."
    ]
    if let edit = preparation.edit, preparation.engine != .edit {
      lines.append(
        "with --engine edit, in the store itself: about "
          + "\(DurationText(seconds: edit.expectedDuration / .seconds(1))) and "
          + "\(ByteText(edit.diskNeeded)) of disk.")
    }
    if !preparation.stayingTables.isEmpty {
      lines.append(
        "stays as it is, unread: about \(CountText(preparation.stayingRows, "row")), "
          + "\(ByteText(preparation.stayingBytes)), "
          + preparation.stayingTables.joined(separator: ", "))
    }
    for (table, columns) in preparation.updatedTables.sorted(by: { $0.key < $1.key }) {
      lines.append("updated where it is: \(table) (\(columns.joined(separator: ", ")))")
    }
    for partition in preparation.partitions {
      lines.append(
        "partition \(partition.number): \(CountText(partition.rows, "row")), "
          + "about \(ByteText(partition.bytes)), " + partition.tables.joined(separator: ", "))
      for order in preparation.workOrders where order.partition == partition.number {
        lines.append(
          "  work order \(order.number): \(rows(of: order)), \(Self.text(order: order))"
        )
      }
    }
    return lines
  }

  /// Rows of a part of a table are counted only if ranges of rows were requested.
  private func rows(of order: StoreMigration.WorkOrder) -> String {
    let isCounted =
      work.rangeRows != nil
      || order.pieces.allSatisfy { $0.keys.lowerBound == .min && $0.keys.upperBound == .max }
    return (isCounted ? "" : "about ") + "\(CountText(order.rows, "row"))"
  }

  private static func text(order: StoreMigration.WorkOrder) -> String {
    order.pieces.map { piece in
      let (first, last) = (piece.keys.lowerBound, piece.keys.upperBound)
      if first == .min && last == .max { return piece.table }
      let bounds = (first == .min ? "" : "\(first)", last == .max ? "" : "\(last)")
      return "\(piece.table) \(bounds.0)…\(bounds.1)"
    }.joined(separator: ", ")
  }
}
