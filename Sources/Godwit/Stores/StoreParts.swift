import Inspection
import StoreFormat
import SystemCalls
import SystemPackage

extension StoreInspection.ExternalFiles {
  /// Counts what lies in a folder; nil where there is none.
  init?(in folder: FilePath) throws {
    guard try Files.fileStatusIfPresent(folder, followLinks: false)?.kind == .directory else {
      return nil
    }
    self.init()
    for name in try Files.listDirectory(folder) {
      let status = try Files.fileStatusIfPresent(folder.appending(name), followLinks: false)
      if let status, status.kind == .file {
        files += 1
        bytes += status.size
      } else if status != nil {
        others += 1
      }
    }
  }

  /// The number of files and bytes.
  var words: String {
    let odd = others == 0 ? "" : " (and \(others) that are not regular files)"
    return "\(CountText(files, "external file")) of \(ByteText(bytes))\(odd)"
  }
}

extension StoreInspection.Strays {
  init(_ strays: StoreContents.Strays) {
    self.init(table: strays.table, rows: strays.rows, keys: strays.keys)
  }

  /// How many rows are of no entity, and some of their keys.
  var words: String {
    let list = keys.map { "\($0)" }.joined(separator: ", ")
    let rest = Int64(keys.count) < rows ? ", …" : ""
    return "\(table)  \(CountText(rows, "row")) of no entity of the table (Z_PK \(list)\(rest))"
  }
}
