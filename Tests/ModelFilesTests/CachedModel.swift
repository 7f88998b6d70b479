import CZlib
import Foundation
import GRDB
import KeyedArchives
import ModelFiles
import ObjectModel
import SystemPackage
import TestSupport
import Testing

/// What a store of the corpus says of its own model.
struct CachedModel {
  var frameworkVersion: Int64
  var hashes: [String: String]
  var digest: String?
  var checksum: String?
  /// The archive of the model; nil where the framework was too old to keep one.
  var archive: [UInt8]?

  /// Stores whose metadata and model are read from a copy in the scratch folder.
  init(_ relative: String) throws {
    let copy = try Corpus.copyStore(relative, to: ScratchFolder.current)
    let queue = try DatabaseQueue(path: copy.string)
    let (metadata, cache) = try queue.read { db -> ([UInt8], [UInt8]?) in
      let row = try #require(try Row.fetchOne(db, sql: "SELECT Z_PLIST FROM Z_METADATA"))
      let plist: Data = row[0]
      guard try db.tableExists("Z_MODELCACHE") else { return (Array(plist), nil) }
      let data = try Data.fetchOne(db, sql: "SELECT Z_CONTENT FROM Z_MODELCACHE")
      return (Array(plist), data.map { Array($0) })
    }
    let values = try #require(try PropertyList(decoding: metadata).dictionaryValue)
    frameworkVersion = try #require(values["NSPersistenceFrameworkVersion"]?.integerValue)
    let versions = try #require(values["NSStoreModelVersionHashes"]?.dictionaryValue)
    hashes = Dictionary(
      uniqueKeysWithValues: versions.map { name, value in
        let hash = value.dataValue.flatMap { VersionHash(bytes: $0) }
        return (name.text, hash?.hexadecimal ?? "not a hash")
      })
    digest = values["NSStoreModelVersionHashesDigest"]?.stringValue
    checksum = values["NSStoreModelVersionChecksumKey"]?.stringValue
    archive = try cache.map { try Self.inflated($0) }
  }

  /// Every store that has a model cache.
  static let stores = Corpus.files(endingIn: ".sqlite").filter {
    !$0.hasPrefix("compiled/") && $0 != "bookmigration/Model1.sqlite"
  }

  /// Those of them whose model's source is in the corpus.
  static let withSources = stores.filter { !$0.hasPrefix("modern/") }

  /// Model sources of the corpus by their hashes.
  static let sources: [[String: String]: [ManagedObjectModel]] = {
    var result: [[String: String]: [ManagedObjectModel]] = [:]
    for name in Corpus.files(endingIn: ".xcdatamodel/contents") {
      if let model = try? ModelDocument.model(decoding: Corpus.bytes(name)),
        let hashes = try? model.versionHashes().mapValues(\.hexadecimal)
      {
        result[hashes, default: []].append(model)
      }
    }
    return result
  }()

  /// Raw deflate, as Core Data keeps the archive.
  private static func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    let status = inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    try #require(status == Z_OK)
    defer { inflateEnd(&stream) }
    var input = bytes
    var output: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    let ended = input.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = UInt32(source.count)
      var status = Z_OK
      while status == Z_OK {
        let produced = chunk.withUnsafeMutableBufferPointer { target in
          stream.next_out = target.baseAddress
          stream.avail_out = UInt32(target.count)
          status = inflate(&stream, Z_NO_FLUSH)
          return target.count - Int(stream.avail_out)
        }
        output += chunk[..<produced]
      }
      return status == Z_STREAM_END
    }
    try #require(ended)
    return output
  }
}
