import SystemCalls
package import SystemPackage

/// Checks that pages which SQLite would reuse have no other owner.
///
/// A list of free pages or a b-tree that names a page of another one is damage which no writer
/// notices: the page is overwritten. The pointer map names the owner of each page a second time
/// ("Database File Format", section 1.8).
package final class PageOwnership {
  private let file: SourceFile
  private let pageCount: UInt32
  /// A bit for each page that was come across.
  private var seen: [UInt64]
  private var map: (page: UInt32, bytes: [UInt8]) = (0, [])

  private static let pageSize = 4096
  private static let group: UInt32 = 820

  private enum Kind: UInt8 {
    case root = 1
    case free, firstOverflow, nextOverflow, child
  }

  /// Opens a file with 4096 bytes a page, none of them reserved, and a pointer map.
  package init(_ path: FilePath) throws {
    file = try SourceFile(path)
    pageCount = UInt32(clamping: file.byteCount / Int64(Self.pageSize))
    seen = Array(repeating: 0, count: Int(pageCount) / 64 + 1)
  }

  /// Whether every page of a b-tree is its own, and is one as it should be; no page may have been
  /// come across before.
  package func ownsTree(root: UInt32, isIndex: Bool) throws -> Bool {
    var left: [(page: UInt32, kind: Kind, parent: UInt32)] = [(root, .root, 0)]
    while let (number, kind, parent) = left.popLast() {
      guard try take(number, kind: kind, parent: parent),
        let page = TreePage(
          try read(number), number: number, usable: Self.pageSize, kind: isIndex ? .index : .table),
        !page.isFlawed
      else { return false }
      for cell in page.cells {
        guard let cell else { return false }
        if cell.child > 0 { left.append((cell.child, .child, number)) }
        let rest = cell.payload - cell.local.count
        if cell.overflow > 0, try !ownsChain(from: cell.overflow, bytes: rest, of: number) {
          return false
        }
      }
      if !page.isLeaf { left.append((page.rightmost, .child, number)) }
    }
    return true
  }

  private func ownsChain(from first: UInt32, bytes: Int, of page: UInt32) throws -> Bool {
    var (number, before, kind) = (first, page, Kind.firstOverflow)
    var left = bytes
    while left > 0 {
      guard try take(number, kind: kind, parent: before) else { return false }
      let next = Self.number(try read(number), at: 0)
      (before, number, kind) = (number, next, .nextOverflow)
      left -= Self.pageSize - 4
    }
    return number == 0
  }

  /// Whether every page on the list of free pages is free, and their number is the one in the
  /// header.
  package func ownsFreePages() throws -> Bool {
    let header = try read(1)
    var trunk = Self.number(header, at: HeaderField.firstFreeTrunk)
    var count: UInt32 = 0
    while trunk != 0 {
      guard try take(trunk, kind: .free, parent: 0) else { return false }
      let bytes = try read(trunk)
      let leaves = Int(Self.number(bytes, at: 4))
      guard leaves <= Self.pageSize / 4 - 2 else { return false }
      for place in 0..<leaves {
        guard try take(Self.number(bytes, at: 8 + 4 * place), kind: .free, parent: 0) else {
          return false
        }
      }
      count += UInt32(leaves) + 1
      trunk = Self.number(bytes, at: 0)
    }
    return count == Self.number(header, at: HeaderField.freePages)
  }

  /// Notes a page; false where it was come across before, or the map names another owner.
  private func take(_ page: UInt32, kind: Kind, parent: UInt32) throws -> Bool {
    guard page > 2, page <= pageCount, (page - 2) % Self.group != 0 else { return false }
    let bit = UInt64(1) << UInt64(page % 64)
    guard seen[Int(page / 64)] & bit == 0 else { return false }
    seen[Int(page / 64)] |= bit
    let mapPage = page - (page - 2) % Self.group
    if map.page != mapPage { map = (mapPage, try read(mapPage)) }
    let place = Int(page - mapPage - 1) * 5
    return map.bytes[place] == kind.rawValue && Self.number(map.bytes, at: place + 1) == parent
  }

  private func read(_ page: UInt32) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.pageSize)
    // Bytes after the end of the file are zero, and belong to no page.
    _ = try bytes.withUnsafeMutableBytes {
      try file.read($0, at: (Int64(page) - 1) * Int64(Self.pageSize))
    }
    return bytes
  }

  private static func number(_ bytes: [UInt8], at place: Int) -> UInt32 {
    UInt32(PageBytes.number(bytes, at: place, count: 4) ?? 0)
  }
}
