import Foundation
import Survey
import SystemCalls
import SystemPackage

/// What an output was made of, and how it is known again.
struct MadeOutput: Encodable {
  private var source: SourceFingerprint
  private var device: UInt64
  private var inode: UInt64
  private var bytes: Int64
  private var modified: Int64
  private var options: [String]

  /// Looks at the output of a request as it is now.
  init(of request: MigrationRequest, from source: SourceFingerprint) throws {
    let status = try Files.fileStatus(request.destination, followLinks: false)
    self.source = source
    device = status.device
    inode = status.inode
    bytes = status.size
    modified = status.modified
    options = request.resultOptions
  }

  /// A text that is the same for the same output of the same source.
  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}
