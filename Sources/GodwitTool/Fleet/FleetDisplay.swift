import ArgumentParser
package import Godwit
import Synchronization
import SystemPackage

/// Shows how a fleet is migrated, and what became of it.
struct FleetDisplay {
  /// Whether the status is printed as JSON.
  let json: Bool

  /// Migrates stores of a fleet; ends with the exit status of the fleet.
  func migrate(_ fleet: StoreFleet, _ selection: StoreFleet.Selection) async throws {
    let bar = ProgressBar()
    var stop: MigrationFailure?
    let seen = Mutex(Seen())
    do {
      try await ToolProcess.cancellable { [fleet] in
        let outcomes = fleet.run(selection) { notice in
          bar.clear()
          Terminal.standardError.line(text: "godwit: note: \(notice.sentence)")
        }
        for try await outcome in outcomes {
          let done = seen.withLock { $0.add(outcome) }
          for sentence in outcome.sentences {
            bar.clear()
            let place = sentence.contains(outcome.store.string) ? "" : "\(outcome.store): "
            Terminal.standardError.line(text: "godwit: \(place)\(sentence)")
          }
          let share = Double(done) / Double(max(1, fleet.storeCount))
          bar.show(
            fraction: share,
            "\(CountText(done, "result")) of \(CountText(fleet.storeCount, "store"))")
        }
      }
    } catch let failure as MigrationFailure where failure.kind == .interrupted {
      stop = failure
    }
    bar.clear()
    for sentence in stop?.sentences ?? [] {
      Terminal.standardError.line(text: "godwit: \(sentence)")
    }
    // Reading the results of all other elements is a matter of the last step.
    let own = seen.withLock { $0 }
    let code: Int32
    if let element = fleet.element {
      Terminal.standardOutput.line(text: "\(fleet.path), element \(element): \(own.counts).")
      code = own.failed.values.max() ?? 0
    } else {
      let status = try fleet.status()
      try show(status)
      code = status.exitStatus
    }
    let last = stop?.exitStatus.rawValue ?? code
    if last != 0 { throw ExitCode(last) }
  }

  /// The outcomes of this run.
  private struct Seen {
    var kinds: [Int: StoreFleet.Outcome.Kind] = [:]
    var failed: [Int: Int32] = [:]

    /// Adds an outcome, and returns the number of stores with one.
    mutating func add(_ outcome: StoreFleet.Outcome) -> Int {
      kinds[outcome.number] = outcome.kind
      failed[outcome.number] = outcome.kind == .failed ? outcome.exitStatus : nil
      return kinds.count
    }

    var counts: String {
      let all = StoreFleet.Outcome.Kind.allCases.map { kind in
        (kind, kinds.values.count { $0 == kind })
      }
      let counts = all.filter { $0.1 > 0 }.map { "\(GroupedText($0.1)) \($0.0.rawValue)" }
      return "\(CountText(kinds.count, "store")) in this run"
        + (counts.isEmpty ? "" : ": \(counts.joined(separator: ", "))")
    }
  }

  /// Shows a status.
  func show(_ status: StoreFleet.Status) throws {
    let out = Terminal.standardOutput
    if json { return out.line(json: try JSONOutput.text(value: status)) }
    for line in FleetText(status).lines { out.line(text: line) }
  }
}

extension StoreFleet.Notice {
  /// The notice as a sentence.
  fileprivate var sentence: String {
    switch self {
    case .slow(let store, let seconds):
      "\(store) takes much longer than others of its size: \(DurationText(seconds: seconds)) so far."
    case .canaryPassed(let stores):
      "the canary of \(CountText(stores, "store")) is migrated and verified."
    }
  }
}

/// The status of a fleet in lines for people.
package struct FleetText {
  private let status: StoreFleet.Status

  /// Takes a status.
  package init(_ status: StoreFleet.Status) { self.status = status }

  /// The verdict, and what is behind it.
  var lines: [String] {
    var lines = ["\(status.path): \(status.state.rawValue), \(counts)."]
    if let stopped = status.stopped, status.state == .incomplete {
      lines.append("The last run stopped: \(stopped).")
    }
    if status.damagedLines > 0 {
      lines.append(
        "\(CountText(status.damagedLines, "line")) of the results files cannot be read; the next "
          + "run checks these stores again.")
    }
    if let rate { lines.append(rate) }
    for group in status.failures {
      lines.append(
        "  \(group.reason): \(CountText(group.stores, "store")), such as \(group.store)")
      lines.append("    \(group.sentence)")
    }
    lines += notes.map { "  \($0)" }
    let running = status.running.sorted { $0.seconds > $1.seconds }
    for store in running.prefix(8) {
      let slow = store.isSlow ? ", much longer than others of its size" : ""
      lines.append(
        "  at work: \(store.store), \(ByteText(store.bytes)), "
          + "\(DurationText(seconds: store.seconds))\(slow)")
    }
    for store in status.slowest.prefix(3) where store.seconds >= 1 {
      lines.append(
        "  slowest: \(store.store), \(ByteText(store.bytes)), "
          + "\(DurationText(seconds: store.seconds))")
    }
    if let advice { lines.append(advice) }
    return lines
  }

  /// The losses over all stores and their missing logs.
  package var notes: [String] {
    losses + [Self.missingLogs(status.storesLackingLog)].compactMap(\.self)
  }

  /// The losses over all stores; the first ones, if there are many.
  private var losses: [String] {
    let all = status.losses
    let most = 20
    let lines = all.prefix(most).map { loss in
      "lost in \(CountText(loss.stores, "store")): \(loss.sentence)"
    }
    return all.count > most
      ? lines + ["… and \(CountText(all.count - most, "more loss", "more losses"))."] : lines
  }

  /// The note on stores in WAL mode without a log; nil if there are none.
  static func missingLogs(_ count: Int) -> String? {
    guard count > 0 else { return nil }
    let stores = CountText(count, "store has", "stores have")
    return "\(stores) journal mode WAL and no -wal file: if copied without that file, data is "
      + "missing."
  }

  /// The command that continues from here.
  private var advice: String? {
    switch status.state {
    case .running, .done: nil
    case .incomplete: "`godwit fleet run \(status.path)` migrates those that wait."
    case .failed: "`godwit fleet retry \(status.path)` migrates those that failed."
    case .rolledBack:
      "`godwit fleet retry \(status.path) --rolled-back` migrates those that were put back."
    }
  }

  /// Such as `1,000 stores: 998 migrated, 2 failed`.
  package var counts: String {
    let words: [(Int, String)] = [
      (status.count(.migrated), "migrated"), (status.count(.copied), "copied"),
      (status.count(.current), "current already"), (status.count(.failed), "failed"),
      (status.count(.rolledBack), "rolled back"), (status.waiting, "waiting"),
    ]
    let counts = words.filter { $0.0 > 0 }.map { "\(GroupedText($0.0)) \($0.1)" }
    let found = status.found > 0 ? " (\(GroupedText(status.found)) found done)" : ""
    return "\(CountText(status.stores, "store")): \(counts.joined(separator: ", "))\(found)"
  }

  private var rate: String? {
    guard let stores = status.storesPerSecond, let bytes = status.bytesPerSecond else { return nil }
    let left = status.secondsRemaining.map { ", about \(DurationText(seconds: $0)) left" } ?? ""
    return "\(Self.number(stores)) stores/s, \(ByteText(Int64(bytes)))/s\(left)."
  }

  /// A rate, with a decimal where it is small.
  package static func number(_ rate: Double) -> String {
    rate >= 10 ? "\(GroupedText(Int(rate)))" : "\((rate * 10).rounded() / 10)"
  }
}
