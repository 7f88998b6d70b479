import Digests
import Inspection
import MigrationCoordinator
import ObjectModel
import Planning
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// A store as a receipt describes it: hashes of its files, and what it has.
struct SealedStore {
  /// Its fields in the receipt.
  var description: MigrationReceipt.Store
  /// By what its main file is known again.
  let fingerprint: SourceFingerprint

  /// Reads a store as a whole, and leaves it as it is.
  ///
  /// - Parameters:
  ///   - acceptsDamage: whether a store that cannot be counted is described without its objects.
  ///   - models: where its model may be found, besides the store itself.
  init(_ path: FilePath, versions: [String], models: [FilePath], acceptsDamage: Bool) throws {
    let access = try SourceAccess.open(path, acceptsShort: acceptsDamage)
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    let support = SupportFolder.path(of: try Files.resolved(path))
    let file = try SourceFile(access.readable)
    description = MigrationReceipt.Store(
      path: path.string, uuid: metadata.uuid, versions: versions,
      versionChecksum: metadata.versionHashes.checksum, bytes: file.byteCount,
      sha256: try FileHash.of(file),
      externalFiles: try FileHash.files(in: ExternalDataFolder.files(support: support)))
    fingerprint = access.fingerprint
    do {
      try count(reader, hashes: metadata, models: models)
    } catch let error where acceptsDamage && !(error is CancellationError) {
      (description.objects, description.references) = (nil, nil)
    }
    try access.requireUnchanged()
  }

  private mutating func count(
    _ reader: StoreReader, hashes metadata: StoreMetadata, models: [FilePath]
  ) throws {
    guard let model = try OwnModel.find(metadata.versionHashes, in: models, reader: reader) else {
      throw MigrationError.sourceModelMissing(
        store: FilePath(description.path), searched: models, unreadable: [])
    }
    let counts = try ObjectCounts(reader, model: model)
    description.objects = counts.objects
    description.references = counts.references.map {
      .init(entity: $0.entity, relationship: $0.relationship, count: $0.count)
    }
  }
}

/// The SHA-256 of files, in hexadecimal digits.
enum FileHash {
  private static let chunk = 1 << 20

  /// The hash of a store with the pages of its log.
  static func of(_ file: SourceFile) throws -> String {
    try of { try file.read($0, at: $1) }
  }

  /// The hash of a regular file.
  static func of(_ path: FilePath) throws -> String {
    let descriptor = try Files.open(path, mode: .readOnly)
    defer { try? descriptor.close() }  // nothing was written
    return try of { try descriptor.readAll(into: $0, at: $1) }
  }

  private static func of(
    _ read: (UnsafeMutableRawBufferPointer, Int64) throws -> Int
  ) throws -> String {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
    defer { buffer.deallocate() }
    var hash = SecureHashStream()
    var offset: Int64 = 0
    while true {
      try Task.checkCancellation()
      let count = try read(buffer, offset)
      hash.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      if count < chunk { return hash.digest().hexadecimal }
    }
  }

  /// The regular files of a folder as one; nil where there is no folder, or none is in it.
  static func files(in folder: FilePath) throws -> MigrationReceipt.Files? {
    guard try Files.fileStatusIfPresent(folder)?.isDirectory == true else { return nil }
    var result = MigrationReceipt.Files(count: 0, bytes: 0, sha256: "")
    var hash = SecureHashStream()
    let names = try Files.listDirectory(folder).sorted {
      $0.string.utf8.lexicographicallyPrecedes($1.string.utf8)
    }
    for name in names {
      let path = folder.appending(name)
      let status = try Files.fileStatus(path, followLinks: false)
      // Opening a pipe would wait for a writer.
      guard status.kind == .file else { continue }
      result.count += 1
      result.bytes += status.size
      Array("\(try of(path))  \(name)\n".utf8).withUnsafeBytes { hash.append($0) }
    }
    result.sha256 = hash.digest().hexadecimal
    return result.count == 0 ? nil : result
  }
}
