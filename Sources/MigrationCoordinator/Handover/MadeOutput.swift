import Foundation
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// Identifies an output and what it was made of, so that a repeated command finds it done.
///
/// Models and mapping models are known by their contents: a path may lead to another version of
/// either by now, and another path to the same one.
struct MadeOutput: Codable, Hashable {
  private var file: File
  private var source: SourceFingerprint
  private var options: Options
  private var models: ModelChecksums
  /// Its losses, which each command that finds it has to accept.
  let losses: MadeLosses

  /// The file of an output, whatever its name; without the number of its file system, which may be
  /// another one after a restart of the system.
  private struct File: Codable, Hashable {
    var inode: UInt64
    var bytes: Int64
    var modified: Int64

    init(_ status: FileStatus) {
      (inode, bytes, modified) = (status.inode, status.size, status.modified)
    }
  }

  /// The options on which the output depends.
  private struct Options: Codable, Hashable {
    var configuration: String?
    var isProgressive: Bool
    var infersOnly: Bool
    var infers: Bool
    var versionOrder: [String]
    var journalMode: String?
    var rules: ResultRules
    var program: Program?

    init(_ request: MigrationRequest) throws {
      configuration = request.configuration
      isProgressive = request.isProgressive
      infersOnly = request.infersOnly
      infers = request.infers
      versionOrder = request.versionOrder
      journalMode = request.journalMode?.rawValue
      rules = request.rules
      program = try Program(ofPolicies: request)
    }
  }

  /// Describes the output of a request, a file with this status whatever its name.
  init(
    _ status: FileStatus, of request: MigrationRequest, from source: SourceFingerprint,
    by models: ModelChecksums, losing losses: MadeLosses
  ) throws {
    file = File(status)
    self.source = source
    options = try Options(request)
    self.models = models
    self.losses = losses
  }

  /// Reads a description; nil where the text is none of this form.
  init?(text: String) {
    guard let made = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
    self = made
  }

  /// The description as text.
  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// Whether a file with this status is the output.
  func isFile(_ status: FileStatus) -> Bool { file == File(status) }

  /// Whether a request would make the output again: from the store as it is now, by equal options,
  /// models and mapping models.
  ///
  /// Models are read only if all else is equal.
  func isMade(by request: MigrationRequest, target: () throws -> TargetModel) throws -> Bool {
    guard try source == SourceFingerprint(of: request.store), try options == Options(request)
    else { return false }
    let target = try target()
    return try models.target == target.checksum
      && models.isSame(as: request, target: target)
  }
}

extension TargetModel {
  /// The checksum of the whole model, which its hashes do not cover.
  package var checksum: String {
    get throws { try ModelChecksums.checksum(of: model, hashes: hashes) }
  }
}
