public import Foundation
import StoreFormat

extension StoreInspection {
  /// The state of CloudKit mirroring, as far as its tables are known.
  public struct CloudKit: Hashable, Sendable, Encodable {
    /// A setup, an import or an export.
    public struct Event: Hashable, Sendable, Encodable {
      /// `setup`, `import`, `export`, or a number that is not known.
      public var type: String
      /// When it began.
      public var started: Date?
      /// When it ended, nil if it has not.
      public var ended: Date?
      /// Whether it did what it was to do.
      public var succeeded: Bool
      /// The domain and code of its error, nil without one.
      public var error: String?
    }

    /// The tables of mirroring, with their rows.
    public var tables: [TableRows]
    /// Records of objects in iCloud; nil where there is no table of them.
    public var records: Int64?
    /// Records that wait for an upload or a deletion, here or in iCloud.
    public var pending: Int64?
    /// Records that wait to be uploaded.
    public var needsUpload: Int64?
    /// Records whose objects are to be deleted here.
    public var needsLocalDelete: Int64?
    /// Records that are to be deleted in iCloud.
    public var needsCloudDelete: Int64?
    /// The event that began last.
    public var lastEvent: Event?
    /// The names of record zones.
    public var zones: [String]

    init(_ overview: MirroringOverview) {
      tables = overview.tables.map { TableRows(name: $0.name, rows: $0.rows) }
      (records, pending, zones) = (overview.records, overview.pending, overview.zones)
      (needsUpload, needsLocalDelete) = (overview.needsUpload, overview.needsLocalDelete)
      needsCloudDelete = overview.needsCloudDelete
      lastEvent = overview.lastEvent.map { Event($0) }
    }

    /// The lines of `godwit inspect`.
    var lines: [String] {
      let rows = tables.reduce(0) { $0 + $1.rows }
      var lines = [
        "  is mirrored with CloudKit: \(CountText(tables.count, "table")), "
          + "\(CountText(rows, "row"))"
      ]
      if let records {
        let kinds = [
          (needsUpload, "to upload"), (needsLocalDelete, "to delete here"),
          (needsCloudDelete, "to delete in iCloud"),
        ].compactMap { count, what in count.map { "\(GroupedText($0)) \(what)" } }
        lines.append(
          "    \(CountText(records, "record")), \(GroupedText(pending ?? 0)) pending"
            + (kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"))
      }
      if let lastEvent {
        let when = lastEvent.started.map { " of \($0.formatted(.iso8601))" } ?? ""
        let end =
          lastEvent.succeeded
          ? "succeeded" : lastEvent.error.map { "failed: \($0)" } ?? "not successful"
        lines.append("    last event: \(lastEvent.type)\(when), \(end)")
      }
      return lines + zones.map { "    zone \($0)" }
    }
  }
}

extension StoreInspection.CloudKit.Event {
  fileprivate init(_ event: MirroringOverview.Event) {
    let names = ["setup", "import", "export"]
    let type = event.type.map { number in
      names.indices.contains(Int(clamping: number)) ? names[Int(number)] : "\(number)"
    }
    self.init(
      type: type ?? "unknown",
      started: event.started.flatMap(Self.date), ended: event.ended.flatMap(Self.date),
      succeeded: event.succeeded ?? false,
      error: event.errorDomain.map { "\($0) \(event.errorCode.map { "\($0)" } ?? "")" })
  }

  /// A date of some thousand years; others have no text.
  private static func date(_ seconds: Double) -> Date? {
    abs(seconds) < 1e11 ? Date(timeIntervalSinceReferenceDate: seconds) : nil
  }
}
