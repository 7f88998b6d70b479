import StoreFormat
package import SystemPackage

/// Where things lie in a store: pages of 4096 bytes, none reserved, with incremental vacuum.
///
/// The rules are those of docs/reference/store-pages.md.
package enum PageGeometry {
  /// The bytes of a page of the result.
  package static let pageSize = 4096
  /// A pointer-map page and the pages that it describes.
  package static let group: UInt32 = 820
  /// The page with the bytes that SQLite locks; it never holds anything.
  package static let lockPage: UInt32 = 262_145
  /// The most payload that a leaf cell of a table keeps on its page.
  static let tableLocalLimit = pageSize - 35
  /// The same for every cell of an index.
  static let indexLocalLimit = (pageSize - 12) * 64 / 255 - 23
  static let localMinimum = (pageSize - 12) * 32 / 255 - 23
  /// Payload on one page of an overflow chain.
  static let overflowCapacity = pageSize - 4

  /// The byte of the file at which a page begins.
  package static func offset(page: UInt32) -> Int64 {
    (Int64(page) - 1) * Int64(pageSize)
  }

  /// Whether the page belongs to the pointer map or to the locks.
  package static func isReserved(_ page: UInt32) -> Bool {
    page < 2 || (page - 2) % group == 0 || page == lockPage
  }

  /// The pointer-map page that describes a page.
  static func mapPage(_ page: UInt32) -> UInt32 { page - (page - 2) % group }

  /// Where the pointer map describes a page, in bytes of the file.
  static func mapOffset(_ page: UInt32) -> Int64 {
    let map = mapPage(page)
    return offset(page: map) + Int64(page - map - 1) * 5
  }

  /// Payload that stays on the page of its cell.
  static func localSize(_ payload: Int, limit: Int) -> Int {
    if payload <= limit { return payload }
    let size = localMinimum + (payload - localMinimum) % overflowCapacity
    return size <= limit ? size : localMinimum
  }
}

/// The kind of a page in the pointer map.
package enum PagePointer: UInt8, Sendable {
  /// The root of a b-tree; its parent is 0.
  case root = 1
  /// A page on the list of free pages; its parent is 0.
  case free = 2
  /// The first page of a cell's overflow; its parent holds the cell.
  case firstOverflow = 3
  /// Another page of an overflow; its parent is the page before.
  case nextOverflow = 4
  /// A page of a b-tree; its parent is an interior page.
  case child = 5
}

/// Why pages could not be read or written.
package struct PageError: Error, Hashable, Sendable {
  /// What was wrong.
  package enum Problem: Hashable, Sendable {
    /// The system could not read, by its `errno`.
    case read(Int32)
    /// The system could not write, by its `errno`.
    case write(Int32)
    /// A page that was read is not as the format has it; 0 where its number is not known.
    case damaged(page: UInt32)
    /// A page that this program made is not as it was made.
    case miswritten(page: UInt32)
    /// A file ends before what it should hold.
    case endOfFile
    /// Keys that do not rise, in a table.
    case keysOutOfOrder
    /// An index of the source whose entries are not those of its rows.
    case indexDiffers(index: String, entries: Int64, rows: Int64)
    /// Rows that agree in the columns of a unique index.
    case duplicateKeys
    /// More pages than an SQLite file can have.
    case fileFull
    /// A value longer than SQLite's limit.
    case valueTooLong
    /// An index key that this engine does not sort.
    case keyUnsupported
    /// A b-tree of the source whose pages cannot be taken as they are.
    case unmovable
  }

  /// What was wrong.
  package var problem: Problem
  /// The file that was read or written, as far as it is known.
  package var file: FilePath?
  /// The table whose pages they were, as far as it is known.
  package var table: String?

  /// Makes an error; `at(file:table:)` adds places further up.
  package init(_ problem: Problem, file: FilePath? = nil) {
    self.problem = problem
    self.file = file
  }

  /// The same error with the places that are still open filled in.
  package func at(file: FilePath, table: String? = nil) -> PageError {
    var result = self
    result.file = self.file ?? file
    result.table = self.table ?? table
    return result
  }
}

extension PageField {
  /// Completes a leaf that has its cells and their pointers; what lies between becomes zero.
  @inline(__always)
  static func closeLeaf(
    _ page: UnsafeMutableRawPointer, type: UInt8, cells: Int, content: Int
  ) {
    let end = leafPointer(cells)
    page.initializeMemory(as: UInt8.self, repeating: 0, count: leafHeaderSize)
    (page + end).initializeMemory(as: UInt8.self, repeating: 0, count: content - end)
    page.storeBytes(of: type, as: UInt8.self)
    Bytes.put16(cells, at: page + cellCount)
    Bytes.put16(content, at: page + contentStart)
  }

  /// Completes a page of a chain with so many bytes of a payload, and the number of the next page.
  @inline(__always)
  static func closeOverflow(_ page: UnsafeMutableRawPointer, count: Int, next: UInt32) {
    Bytes.put32(next, at: page)
    (page + 4 + count).initializeMemory(
      as: UInt8.self, repeating: 0, count: PageGeometry.pageSize - 4 - count)
  }
}
