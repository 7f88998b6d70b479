import MigrationCoordinator
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// A file that stands where a store is expected, and is known by its first bytes or its name.
enum ForeignFile {
  /// The sentence on a file: what it is, and what to name or do instead.
  static func sentence(on file: FilePath, isText: Bool) -> String {
    if let known = sentence(on: file) { return known }
    return isText
      ? "\(file) is a text file, not an SQLite store: check the path."
      : "\(file) is not an SQLite file, or it is encrypted: decrypt it before migrating it."
  }

  /// The sentence on a folder.
  static func sentence(onFolder folder: FilePath) -> String {
    let models = ["xcdatamodeld", "xcdatamodel", "momd", "xcmappingmodel"]
    return models.contains(folder.extension ?? "")
      ? "\(folder) is a model, not a store: \(otherFile)."
      : "\(folder) is a folder, not a store: name the .sqlite file in it."
  }

  private static let otherFile = "name the store that the app has written"

  private static func sentence(on file: FilePath) -> String? {
    guard let head = try? Files.readHead(file, count: 64) else { return nil }
    if let (name, program) = archive(head) {
      return "\(file) is \(name), not a store: unpack it first (\(program))."
    }
    if head.starts(with: "version https://git-lfs".utf8) {
      return "\(file) is a pointer of Git LFS, not the store: `git lfs pull` brings the store."
    }
    if let part = part(head, of: file) { return part }
    if isPlaceholder(file) {
      return "\(file) is a placeholder of iCloud, not the store: download the store first."
    }
    if file.extension == "swift" {
      return "\(file) is Swift source, not a store: \(otherFile); a SwiftData model is in it."
    }
    if head.starts(with: "bplist00".utf8) {
      let what = file.extension == "mom" ? "a compiled model" : "a binary property list"
      return "\(file) is \(what), not a store: \(otherFile)."
    }
    return nil
  }

  /// The sentence on a file that belongs to a model or to a store, by its first bytes.
  private static func part(_ head: [UInt8], of file: FilePath) -> String? {
    if head.starts(with: "momv".utf8) {
      return "\(file) is an optimized managed object model, not a store: \(otherFile)."
    }
    if head.starts(with: RollbackJournal.magic) {
      if let store = try? KeptName.owner(of: file) {
        return "\(file) is the undo file of a migration, not a store: "
          + "\(command: .rollback("\(store.lexicallyNormalized())")) restores the old store."
      }
      return "\(file) is a rollback journal of SQLite, not a store: name the file next to it."
    }
    if head.starts(with: [0x37, 0x7f, 0x06]) {
      return "\(file) is a write-ahead log of SQLite, not a store: name the file next to it."
    }
    return nil
  }

  /// Why a file is not there, as far as its placeholder shows.
  static func absence(of file: FilePath) -> String {
    guard let name = file.lastComponent,
      let placeholder = FilePath.Component(".\(name.string).icloud"),
      (try? Files.fileStatusIfPresent(Files.parent(of: file).appending(placeholder))) != nil
    else { return "\(file) does not exist: check the path." }
    return "\(file) is in iCloud and not on this disk: download it first."
  }

  /// The name of an archive's form, and what unpacks it.
  private static func archive(_ head: [UInt8]) -> (name: String, program: String)? {
    let forms: [([UInt8], String, String)] = [
      ([0x1f, 0x8b], "compressed by gzip", "gunzip"),
      (Array("PK\u{3}\u{4}".utf8), "a zip archive", "unzip"),
      ([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], "compressed by xz", "unxz"),
      (Array("BZh".utf8), "compressed by bzip2", "bunzip2"),
      ([0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "unzstd"),
    ]
    return forms.first { head.starts(with: $0.0) }.map { ($0.1, $0.2) }
  }

  private static func isPlaceholder(_ file: FilePath) -> Bool {
    file.extension == "icloud" && file.lastComponent?.string.hasPrefix(".") == true
  }
}
