public import SystemPackage

/// How far a fleet is as gauges, in the text format of Prometheus, version 0.0.4.
public struct FleetMetrics: Hashable, Sendable {
  /// The lines of the format, with the end of the last one.
  public let text: String

  /// The beginning of every text.
  static let head = "# HELP godwit_fleet_state "

  /// Describes a fleet.
  public init(_ status: StoreFleet.Status) { self.init([status]) }

  /// Describes several fleets: each gauge has its help and its type once, and the samples of all.
  public init(_ statuses: [StoreFleet.Status]) {
    var writer = MetricsWriter(subject: "fleet")
    for status in statuses { writer.fleet(status) }
    text = writer.text
  }
}

extension MetricsWriter {
  fileprivate mutating func fleet(_ status: StoreFleet.Status) {
    labels = [("fleet", status.path.string)]
    choice(
      "state", "1 for the state of the fleet, 0 for the others.", label: "state",
      of: StoreFleet.Status.State.allCases.map(\.rawValue), chosen: status.state.rawValue)
    gauge("exit_status", "The exit status of `godwit fleet status`.", Double(status.exitStatus))
    gauge("stores", "Stores of the fleet.", Double(status.stores))
    describe("stores_by_outcome", "Stores with a result, by outcome.")
    for kind in StoreFleet.Outcome.Kind.allCases {
      sample("stores_by_outcome", [("outcome", kind.rawValue)], Double(status.count(kind)))
    }
    gauge("stores_waiting", "Stores without a result.", Double(status.waiting))
    gauge("stores_running", "Stores that are being migrated.", Double(status.running.count))
    gauge(
      "stores_slow", "Of these, stores that take much longer than others of their size.",
      Double(status.running.count { $0.isSlow }))
    gauge("bytes", "Bytes of all stores.", Double(status.bytes))
    gauge("bytes_done", "Bytes of stores that are done.", Double(status.bytesDone))
    gauge("rows", "Rows of new stores.", Double(status.rows))
    if !status.failures.isEmpty {
      describe("failures", "Stores that failed, by reason.")
      for group in status.failures {
        sample("failures", [("reason", group.reason)], Double(group.stores))
      }
    }
    if !status.losses.isEmpty {
      describe("losses", "Objects, values, references or rows that were lost, by name and cause.")
      for loss in status.losses {
        let name = loss.property.map { "\(loss.entity).\($0)" } ?? loss.entity
        sample(
          "losses", [("kind", loss.kind), ("name", name), ("cause", loss.cause)], Double(loss.count)
        )
      }
    }
    gauge(
      "stores_lacking_log", "Stores in journal mode WAL that had no -wal file.",
      Double(status.storesLackingLog))
    if let rate = status.storesPerSecond {
      gauge("stores_per_second", "Stores per second.", rate)
    }
    if let seconds = status.secondsRemaining {
      gauge("seconds_remaining", "The estimated time remaining.", seconds)
    }
  }
}

/// A file with the metrics of a fleet, for the textfile folder of Prometheus' node exporter.
public struct FleetMetricsFile: Sendable {
  private let file: OutputFile

  /// Checks, before anything else is done, that the file can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, of fleet: StoreFleet) throws(MigrationFailure) {
    file = try OutputFile(path, besides: [fleet.path], noun: "metrics file") {
      $0.starts(with: Array(FleetMetrics.head.utf8))
    }
  }

  /// Writes the metrics, atomically.
  ///
  /// - Throws: `MigrationFailure`, if they cannot be written.
  public func write(_ status: StoreFleet.Status) throws(MigrationFailure) {
    try file.write(FleetMetrics(status).text, as: "the metrics", syncs: false)
  }
}
