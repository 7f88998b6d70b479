import Godwit
import SystemPackage

/// What `godwit status --watch` shows on a terminal, made of what is known and nothing else.
struct WatchScreen {
  let path: FilePath
  let status: MigrationMonitor.Status
  let rates: MigrationRates

  /// The lines for a terminal of this size, neither wider nor more.
  func lines(columns: Int, rows: Int) -> [ScreenLine] {
    let head = head(columns: columns).prefix(rows)
    let workers = WorkerLines(
      status.progress?.workOrdersAtWork ?? [], rates: rates, arePaused: status.state == .paused)
    return (head + workers.lines(columns: columns, rows: rows - head.count))
      .map { $0.fitted(to: columns) }
  }

  /// The lines about the whole migration, the most important first.
  private func head(columns: Int) -> [ScreenLine] {
    var lines = [title(columns: columns)]
    if status.reason != nil {
      lines.append(ScreenLine("  \(StatusText(path: path, status: status).reason)"))
    }
    guard let progress = status.progress else { return lines }
    let percent = ProgressText.percent(progress.fraction)
    let cells = min(60, columns - TextColumns.count(percent) - 3)
    lines.append(
      cells < 5
        ? ScreenLine(percent)
        : ProgressText.bar(fraction: progress.fraction, cells: cells) + ScreenLine(" \(percent)"))
    lines.append(.clauses(ProgressText.words(progress), in: columns))
    for (name, text) in StatusFigures(status, progress, rates: rates).lines {
      let padding = String(repeating: " ", count: max(0, 9 - name.count))
      lines.append(.clauses("\(name)\(padding)\(text)", in: columns))
    }
    return lines
  }

  /// The end of the path, and the state, which is never cut.
  private func title(columns: Int) -> ScreenLine {
    let state = status.state.rawValue
    let path = TerminalText.escaped(path.string)
    let shown = TextColumns.end(of: path, in: max(1, columns - state.count - 2))
    let color: ScreenLine.Color =
      switch status.state {
      case .running, .ready, .done: .green
      case .paused: .yellow
      case .interrupted, .dead, .failed, .refused: .red
      }
    return ScreenLine("\(shown): ") + ScreenLine(state, color)
  }
}

/// The workers at work, a line each.
struct WorkerLines {
  private let orders: [MigrationProgress.WorkOrder]
  private let rates: MigrationRates
  private let arePaused: Bool

  /// - Parameter arePaused: whether the whole migration is paused.
  init(_ orders: [MigrationProgress.WorkOrder], rates: MigrationRates, arePaused: Bool = false) {
    (self.orders, self.rates, self.arePaused) = (orders, rates, arePaused)
  }

  /// The lines; the last one counts the workers without a line.
  func lines(columns: Int, rows: Int) -> [ScreenLine] {
    guard rows > 0, !orders.isEmpty else { return [] }
    let shown = orders.count <= rows ? orders[...] : orders.prefix(rows - 1)
    let width = min(24, shown.map { TextColumns.count(TerminalText.escaped($0.table)) }.max() ?? 0)
    let digits = "\(shown.last?.number ?? 0)".count
    var lines = shown.map {
      line($0, tableWidth: width, numberWidth: digits, columns: columns)
    }
    if shown.count < orders.count {
      lines.append(ScreenLine("  and \(orders.count - shown.count) more"))
    }
    return lines
  }

  /// Such as `  3 ZBOOK  45 %  61,000 rows/s  12.1 MiB/s  21.0 of 85.3 MiB  key 12,345`, without
  /// figures that have no room.
  private func line(
    _ order: MigrationProgress.WorkOrder, tableWidth: Int, numberWidth: Int, columns: Int
  ) -> ScreenLine {
    let number = "\(order.number)"
    let table = TextColumns.cut(TerminalText.escaped(order.table), to: tableWidth)
    var cells = [
      String(repeating: " ", count: max(0, numberWidth - number.count)) + number + " " + table
        + String(repeating: " ", count: tableWidth - TextColumns.count(table)),
      ProgressText.percent(order.share),
    ]
    var figures: [String] = []
    let isPaused = arePaused || order.isPaused
    if !isPaused, let rate = rates.ofWorkOrder(order.number) {
      figures += [AmountText.rows(rate), AmountText.bytes(rate)]
    }
    figures.append(AmountText.memory(order.peakMemory, of: order.memoryLimit))
    if order.lastKey != 0 { figures.append("key \(GroupedText(order.lastKey))") }
    var marks: [String] = []
    if order.attempt > 1 { marks.append("attempt \(order.attempt)") }
    if isPaused { marks.append("paused") }
    var left = columns - (cells + marks).reduce(0) { $0 + TextColumns.count($1) + 2 }
    for figure in figures {
      left -= TextColumns.count(figure) + 2
      if left < 0 { break }
      cells.append(figure)
    }
    return ScreenLine("  " + (cells + marks).joined(separator: "  "))
  }
}
