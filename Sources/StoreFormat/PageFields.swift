/// Where the fields of a b-tree page lie, in bytes from the start of its header.
///
/// "Database File Format" on sqlite.org, section 1.6: a header of 8 bytes on leaves and 12 on
/// interior pages, then two bytes for each cell that say where on the page it begins.
package enum PageField {
  /// The first block of free bytes between cells; 0 where there is none.
  @inlinable package static var firstFreeBlock: Int { 1 }
  @inlinable package static var cellCount: Int { 3 }
  /// Where the first cell on the page begins.
  @inlinable package static var contentStart: Int { 5 }
  /// The child with all keys above those of the cells, on interior pages.
  @inlinable package static var rightmostChild: Int { 8 }
  @inlinable package static var leafHeaderSize: Int { 8 }
  @inlinable package static var interiorHeaderSize: Int { 12 }

  /// The pointer to a cell of a leaf; of the first cell that is not there, the end of them all.
  @inlinable
  package static func leafPointer(_ cell: Int) -> Int { leafHeaderSize + 2 * cell }

  /// The pointer to a cell of an interior page, likewise.
  @inlinable
  package static func interiorPointer(_ cell: Int) -> Int { interiorHeaderSize + 2 * cell }
}

/// The first byte of a b-tree page.
package enum PageType {
  @inlinable package static var interiorIndex: UInt8 { 2 }
  @inlinable package static var interiorTable: UInt8 { 5 }
  @inlinable package static var leafIndex: UInt8 { 10 }
  @inlinable package static var leafTable: UInt8 { 13 }
}

/// Where the fields of a store's header lie, in bytes of the file.
///
/// "Database File Format" on sqlite.org, section 1.3. Numbers of four bytes, but for the page size
/// of two and the single bytes.
package enum HeaderField {
  package static let size = 100
  package static let pageSize = 16
  /// 2 means that the store is written by way of a log.
  package static let writeVersion = 18
  package static let readVersion = 19
  /// One byte: the bytes at the end of each page that belong to nobody.
  package static let reservedBytes = 20
  package static let changeCounter = 24
  package static let pageCount = 28
  package static let firstFreeTrunk = 32
  package static let freePages = 36
  package static let schemaFormat = 44
  /// 0 where the store has no pointer map.
  package static let largestRoot = 52
  package static let textEncoding = 56
  /// The change counter with which the page count was written.
  package static let validForCounter = 92
}
