public import Foundation
public import SystemPackage

/// What is known of a migration as gauges, in the text format of Prometheus, version 0.0.4.
///
/// ```swift
/// if let status = try await MigrationMonitor("Shop.sqlite").status() {
///   let metrics = MigrationMetrics(status, of: "Shop.sqlite")
///   try MetricsFile("shop.prom", of: "Shop.sqlite").write(metrics)
/// }
/// ```
public struct MigrationMetrics: Hashable, Sendable {
  /// The lines of the format, with the end of the last one.
  public let text: String

  /// How every text begins.
  static let head = "# HELP godwit_migration_state "
  /// The most work orders that have gauges of their own.
  static let mostWorkOrders = 64

  /// Describes a migration, by the requested path.
  public init(_ status: MigrationMonitor.Status, of path: FilePath) {
    var writer = MetricsWriter(subject: "migration")
    writer.migration(status, labels: [("store", (status.source ?? path).string)])
    text = writer.text
  }

  /// Describes several migrations, by the requested paths.
  ///
  /// Each gauge has its help and its type once, and the samples of all. The label `destination`
  /// distinguishes migrations of one store; of two with the same labels the first counts.
  public init(_ migrations: [(status: MigrationMonitor.Status, path: FilePath)]) {
    var writer = MetricsWriter(subject: "migration")
    var told: Set<[String]> = []
    for (status, path) in migrations {
      let store = (status.source ?? path).string
      let destination = (status.destination ?? path).string
      guard told.insert([store, destination]).inserted else { continue }
      writer.migration(status, labels: [("store", store), ("destination", destination)])
    }
    text = writer.text
  }

  /// Describes a migration, by the requested URL.
  public init(_ status: MigrationMonitor.Status, of file: URL) {
    self.init(status, of: FilePath(file))
  }
}

/// Writes gauges, each with the labels of its migration.
struct MetricsWriter {
  typealias Labels = [(name: String, value: String)]

  /// A gauge with the samples of all migrations.
  private struct Gauge {
    let head: String
    var samples = ""
  }

  private var names: [String] = []
  private var gauges: [String: Gauge] = [:]
  var labels: Labels
  /// The word in the name of every gauge.
  private let subject: String

  init(subject: String, labels: Labels = []) { (self.subject, self.labels) = (subject, labels) }

  /// All lines of a gauge stand together.
  var text: String {
    names.compactMap { gauges[$0] }.reduce(into: "") { $0 += $1.head + $1.samples }
  }

  mutating func migration(_ status: MigrationMonitor.Status, labels: Labels) {
    self.labels = labels
    state(status)
    if let progress = status.progress {
      self.progress(progress)
      processes(progress)
      workOrders(progress)
    }
    if let free = status.freeSpace {
      gauge("free_bytes", "Bytes that are free where the new store goes.", Double(free))
    }
  }

  private mutating func state(_ status: MigrationMonitor.Status) {
    choice(
      "state", "1 for the state of the migration, 0 for the others.", label: "state",
      of: MigrationMonitor.State.allCases.map(\.rawValue), chosen: status.state.rawValue)
    gauge(
      "exit_status", "The exit status of `godwit status`; 0 while it runs and when it is done.",
      Double(status.exitStatus))
    if let ended = status.ended {
      gauge("end_time_seconds", "When it ended.", ended.timeIntervalSince1970)
    }
  }

  private mutating func progress(_ progress: MigrationProgress) {
    choice(
      "phase", "1 for the phase of the migration, 0 for the others.", label: "phase",
      of: MigrationProgress.Phase.allCases.map(\.rawValue), chosen: progress.phase.rawValue)
    gauge("fraction", "The completed share, 0 to 1; it never falls.", progress.fraction)
    if let time = progress.timeRemaining {
      gauge("seconds_remaining", "The estimated time remaining.", time / .seconds(1))
    }
    let work = progress.atWork
    if work.count > 1 {
      gauge("stage", "The number of the stage at work, from 1.", Double(work.number))
      gauge("stages", "How many stages there are.", Double(work.count))
    }
    // Before a stage has a plan, nothing counts its rows.
    guard work.workOrderCount > 0 else { return }
    gauge("rows_done", "Source rows that are migrated.", Double(work.rowsDone))
    gauge("rows_total", "Source rows.", Double(work.rowsTotal))
    gauge("bytes_done", "Source bytes that are migrated.", Double(work.bytesDone))
    gauge("bytes_total", "Source bytes.", Double(work.bytesTotal))
  }

  private mutating func processes(_ progress: MigrationProgress) {
    let times = [
      ("start_time_seconds", "When it started.", progress.started),
      ("heartbeat_time_seconds", "When its process last showed that it runs.", progress.heartbeat),
      ("progress_time_seconds", "When it last made progress.", progress.lastProgress),
    ]
    for (name, help, time) in times { gauge(name, help, time.timeIntervalSince1970) }
    gauge("memory_bytes", "Peak private memory of all processes.", Double(progress.memory))
    if let limit = progress.memoryLimit {
      gauge("memory_limit_bytes", "The limit of --memory for them.", Double(limit))
    }
    if let need = progress.diskNeed {
      gauge(
        "disk_need_bytes", "The expected peak of disk space.",
        Double(need))
    }
    if progress.atWork.workOrderCount > 0 {
      gauge("workers", "Workers at work.", Double(progress.workOrdersAtWork.count))
      gauge(
        "retries",
        "Workers that ended before their rows were "
          + "complete.", Double(progress.retries))
    }
    gauge("workers_wanted", "The maximum number of workers at a time.", Double(progress.workers))
    gauge(
      "rate_limit_bytes", "The maximum of source bytes per second; 0 for no limit.",
      Double(progress.bytesPerSecond ?? 0))
  }

  private mutating func workOrders(_ progress: MigrationProgress) {
    typealias WorkOrder = MigrationProgress.WorkOrder
    describe("work_orders", "Work orders by state.")
    for state in WorkOrder.State.allCases {
      let count = progress.workOrders.count { $0.state == state }
      sample("work_orders", [("state", state.rawValue)], Double(count))
    }
    let shown = progress.workOrders.filter { $0.state == .running || $0.state == .failed }
      .prefix(MigrationMetrics.mostWorkOrders)
    let kinds: [(String, String, (WorkOrder) -> Double)] = [
      ("rows_done", "Source rows of a work order that are migrated.", { Double($0.rowsDone) }),
      ("rows_total", "Source rows of a work order.", { Double($0.rowsTotal) }),
      ("bytes_done", "Source bytes of a work order that are migrated.", { Double($0.bytesDone) }),
      ("bytes_total", "Source bytes of a work order.", { Double($0.bytesTotal) }),
      ("memory_bytes", "Peak private memory of its worker.", { Double($0.peakMemory) }),
      ("attempt", "How many workers have started on it.", { Double($0.attempt) }),
      (
        "heartbeat_time_seconds", "When its worker last showed that it runs.",
        { $0.heartbeat.timeIntervalSince1970 }
      ),
    ]
    for (name, help, value) in kinds where !shown.isEmpty {
      describe("work_order_\(name)", help)
      for order in shown {
        let labels = [("work_order", "\(order.number)"), ("table", order.table)]
        sample("work_order_\(name)", labels, value(order))
      }
    }
  }

  // MARK: The format

  /// A gauge with one sample.
  mutating func gauge(_ name: String, _ help: String, _ value: Double) {
    describe(name, help)
    sample(name, [], value)
  }

  /// A gauge with a sample per word; one of them is 1.
  mutating func choice(
    _ name: String, _ help: String, label: String, of words: [String], chosen: String
  ) {
    describe(name, help)
    for word in words { sample(name, [(label, word)], word == chosen ? 1 : 0) }
  }

  mutating func describe(_ name: String, _ help: String) {
    guard gauges[name] == nil else { return }
    names.append(name)
    let full = "godwit_\(subject)_\(name)"
    gauges[name] = Gauge(head: "# HELP \(full) \(help)\n# TYPE \(full) gauge\n")
  }

  /// A sample of a gauge that is described.
  mutating func sample(_ name: String, _ labels: Labels, _ value: Double) {
    let all = (self.labels + labels).map { "\($0.0)=\"\(Self.escaped($0.1))\"" }
    gauges[name]?.samples +=
      "godwit_\(subject)_\(name){\(all.joined(separator: ","))} \(Self.number(value))\n"
  }

  /// A value of a label: the format escapes three characters, and what a terminal obeys is shown as
  /// its number first.
  private static func escaped(_ value: String) -> String {
    TerminalText.escaped(value, keeping: "\n").unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }

  /// A number as Go parses it; whole ones without a point.
  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }
}
