package import Godwit

/// The figures of a running migration, in words for people.
package struct StatusFigures {
  private let status: MigrationMonitor.Status
  private let progress: MigrationProgress
  private let rates: MigrationRates

  /// Takes a status with its progress, and how fast the migration was seen to be.
  package init(
    _ status: MigrationMonitor.Status, _ progress: MigrationProgress, rates: MigrationRates
  ) {
    (self.status, self.progress, self.rates) = (status, progress, rates)
  }

  /// The figures with their names.
  package var lines: [(name: String, text: String)] {
    var lines: [(name: String, text: String)] = []
    // Before a stage has a plan, a migration of several counts shares of them.
    if work.workOrderCount > 0 {
      lines += [("rows", rows), ("data", bytes)]
    }
    lines.append(("workers", workers))
    let memory = AmountText.memory(progress.memory, of: progress.memoryLimit)
    let isWhole = work.workOrderCount > 0 || work.phase != .migrating
    lines.append(("memory", "\(memory)\(isWhole ? "" : ", without workers")"))
    if let disk { lines.append(("disk", disk)) }
    return lines
  }

  /// The stage at work, or the whole.
  private var work: MigrationProgress.Stage { progress.atWork }

  private var rows: String {
    let counts = "\(GroupedText(work.rowsDone)) of \(GroupedText(work.rowsTotal))"
    return counts + (speed.map { ", \(AmountText.rows($0))" } ?? "")
  }

  private var bytes: String {
    let counts = "\(AmountText.bytes(work.bytesDone)) of \(AmountText.bytes(work.bytesTotal))"
    return counts + (speed.map { ", \(AmountText.bytes($0))" } ?? "")
  }

  /// The speed at which rows are migrated, nil while none are.
  private var speed: MigrationRates.Rate? {
    work.phase == .migrating && status.state != .paused ? rates.overall : nil
  }

  private var workers: String {
    var text = "up to \(progress.workers)"
    if work.workOrderCount > 0 {
      let orders = progress.workOrdersAtWork
      let paused = status.state == .paused ? orders.count : orders.count { $0.isPaused }
      text = "\(orders.count - paused) of \(progress.workers) at work"
      if paused > 0 { text += ", \(paused) paused" }
      text += ", \(CountText(progress.retries, "retry", "retries"))"
    }
    if let rate = progress.bytesPerSecond { text += ", at most \(AmountText.bytes(rate))/s" }
    return text
  }

  private var disk: String? {
    guard let free = status.freeSpace else { return nil }
    let need = progress.diskNeed.map { ", \(AmountText.bytes($0)) needed in all" }
    return "\(AmountText.bytes(free)) free\(need ?? "")"
  }
}

extension MigrationProgress.WorkOrder {
  /// The share of the order that is done, by bytes where there are some.
  package var share: Double {
    let (done, total) = bytesTotal > 0 ? (bytesDone, bytesTotal) : (rowsDone, rowsTotal)
    return total == 0 ? 0 : Double(done) / Double(total)
  }
}

/// Numbers with their units.
package enum AmountText {
  /// Such as `21.0 MiB`.
  package static func bytes(_ number: Int64) -> String { "\(ByteText(number))" }

  /// Such as `21.0 MiB of 85.3 MiB`.
  package static func memory(_ used: Int64, of limit: Int64?) -> String {
    limit.map { "\(bytes(used)) of \(bytes($0))" } ?? bytes(used)
  }

  /// Such as `61,000 rows/s`.
  package static func rows(_ rate: MigrationRates.Rate) -> String {
    "\(GroupedText(whole(rate.rows))) rows/s"
  }

  /// Such as `12.1 MiB/s`.
  package static func bytes(_ rate: MigrationRates.Rate) -> String {
    "\(bytes(whole(rate.bytes)))/s"
  }

  private static func whole(_ number: Double) -> Int64 {
    Int64(exactly: number.rounded()) ?? (number > 0 ? .max : 0)
  }
}
