import Foundation
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// Identifies an output and what it was made of, so that a repeated command finds it done.
struct MadeOutput: Encodable {
  private var source: SourceFingerprint
  private var device: UInt64
  private var inode: UInt64
  private var bytes: Int64
  private var modified: Int64
  private var models: [String: [String]]
  private var way: [Bool]
  private var journalMode: String?
  private var rules: ResultRules

  /// Describes the output of a request, a file with this status whatever its name.
  init(_ status: FileStatus, of request: MigrationRequest, from source: SourceFingerprint) {
    self.source = source
    device = status.device
    inode = status.inode
    bytes = status.size
    modified = status.modified
    models = [
      "target": request.target.map(\.string), "configuration": [request.configuration ?? ""],
      "models": request.models.map(\.string), "mappings": request.mappings.map(\.string),
      "mapping folders": request.mappingFolders.map(\.string), "order": request.versionOrder,
    ]
    way = [request.isProgressive, request.infersOnly, request.infers]
    journalMode = request.journalMode?.rawValue
    rules = request.rules
  }

  /// The description as text; equal texts mean the same output of the same source and options.
  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}
