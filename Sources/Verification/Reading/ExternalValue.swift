import StoreFormat
import SystemCalls
import SystemPackage

/// A value of an attribute that allows external storage: a tag, then the bytes or the name of a
/// file (docs/reference/store-format.md, "External binary data").
enum ExternalValue {
  static let inlineTag: UInt8 = 1
  static let fileTag: UInt8 = 2
  private static let nameLength = 36

  /// The name of the file, nil if the value has the bytes itself.
  static func fileName(in bytes: [UInt8]) -> FilePath.Component? {
    guard bytes.count > nameLength, bytes[0] == fileTag,
      let name = FilePath.Component(
        String(decoding: bytes[1...nameLength], as: UTF8.self)), name.kind == .regular
    else { return nil }
    return name
  }
}

/// The folders that may contain the external files of a store.
struct ExternalFolders: Sendable {
  private let folders: [FilePath]

  /// Takes the support folders, that of the store itself first.
  init(_ folders: [FilePath]) { self.folders = folders }

  /// `.Shop_SUPPORT` next to `Shop.sqlite`.
  static func support(of store: FilePath) -> FilePath {
    let stem = store.lastComponent?.stem ?? ""
    return store.removingLastComponent().appending(".\(stem)_SUPPORT")
  }

  /// The path of a file, nil if no folder contains it.
  func path(of name: FilePath.Component) throws -> FilePath? {
    for folder in folders {
      let path = folder.appending("_EXTERNAL_DATA").appending(name)
      // A link may lead anywhere.
      if try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .file { return path }
    }
    return nil
  }
}

/// Reads and compares whole files.
enum FileBytes {
  private static let chunk = 1 << 20

  static func areSame(_ first: FilePath, _ second: FilePath) throws -> Bool {
    if try Files.fileStatus(first).isSameFile(as: Files.fileStatus(second)) { return true }
    let one = try Files.open(first, mode: .readOnly)
    return try one.closeAfter {
      let other = try Files.open(second, mode: .readOnly)
      return try other.closeAfter {
        while true {
          let (a, b) = (try read(one), try read(other))
          if a != b { return false }
          if a.isEmpty { return true }
        }
      }
    }
  }

  static func all(of path: FilePath) throws -> [UInt8] {
    let file = try Files.open(path, mode: .readOnly)
    return try file.closeAfter {
      var bytes: [UInt8] = []
      while case let part = try read(file), !part.isEmpty { bytes += part }
      return bytes
    }
  }

  /// The first bytes of a file.
  static func head(of path: FilePath, count: Int) throws -> [UInt8] {
    let file = try Files.open(path, mode: .readOnly)
    return try file.closeAfter { try read(file, wanted: count) }
  }

  /// Reads `wanted` bytes, fewer only at the end of the file.
  private static func read(_ file: FileDescriptor, wanted: Int = chunk) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: wanted)
    var done = 0
    while done < wanted {
      let count = try bytes.withUnsafeMutableBytes {
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[done...]))
      }
      if count == 0 { break }
      done += count
    }
    return Array(bytes.prefix(done))
  }
}
