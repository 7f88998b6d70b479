/// Offsets of the fields of a b-tree page, in bytes from the start of its header.
///
/// "Database File Format" on sqlite.org, section 1.6: a header of 8 bytes on leaves and 12 on
/// interior pages, then two bytes for each cell with the offset of the cell on the page.
///
/// Public, since the compiler inlines no package function of another module (Swift 6.3), and hot
/// loops use these.
public enum PageField {
  /// The offset of the first free block between cells, 0 if there is none.
  @inlinable public static var firstFreeBlock: Int { 1 }
  /// The number of cells.
  @inlinable public static var cellCount: Int { 3 }
  /// The offset of the first byte of cell content; 0 stands for 65536.
  @inlinable public static var contentStart: Int { 5 }
  /// On interior pages: the child with all keys above those of the cells.
  @inlinable public static var rightmostChild: Int { 8 }
  /// Bytes of the header of a leaf.
  @inlinable public static var leafHeaderSize: Int { 8 }
  /// Bytes of the header of an interior page.
  @inlinable public static var interiorHeaderSize: Int { 12 }

  /// The offset of a cell's pointer on a leaf; for the number of cells, the end of the pointers.
  @inlinable
  public static func leafPointer(_ cell: Int) -> Int { leafHeaderSize + 2 * cell }

  /// The offset of a cell's pointer on an interior page; for the number of cells, the end of the
  /// pointers.
  @inlinable
  public static func interiorPointer(_ cell: Int) -> Int { interiorHeaderSize + 2 * cell }
}

/// The first byte of a b-tree page.
public enum PageType {
  /// An interior page of an index b-tree.
  @inlinable public static var interiorIndex: UInt8 { 2 }
  /// An interior page of a table b-tree.
  @inlinable public static var interiorTable: UInt8 { 5 }
  /// A leaf of an index b-tree.
  @inlinable public static var leafIndex: UInt8 { 10 }
  /// A leaf of a table b-tree.
  @inlinable public static var leafTable: UInt8 { 13 }
}

/// Offsets of the fields of a store's header, in bytes of the file.
///
/// "Database File Format" on sqlite.org, section 1.3. Numbers have four bytes, except for the page
/// size with two and single bytes.
package enum HeaderField {
  /// Bytes of the header.
  package static let size = 100
  /// Two bytes: the page size, where 1 stands for 65536.
  package static let pageSize = 16
  /// One byte: 2 for WAL mode, 1 for a rollback journal.
  package static let writeVersion = 18
  /// One byte: 2 for WAL mode, 1 for a rollback journal.
  package static let readVersion = 19
  /// One byte: the unused bytes at the end of each page.
  package static let reservedBytes = 20
  /// A counter that grows with every transaction outside WAL mode.
  package static let changeCounter = 24
  /// The size of the file in pages.
  package static let pageCount = 28
  /// The first trunk page of the list of free pages, 0 if there is none.
  package static let firstFreeTrunk = 32
  /// The number of free pages.
  package static let freePages = 36
  /// The schema format number, from 1 to 4.
  package static let schemaFormat = 44
  /// The number of pages that an app suggests for a cache.
  package static let cacheSize = 48
  /// The largest root page of a file with auto-vacuum, 0 for one without a pointer map.
  package static let largestRoot = 52
  /// 1 for UTF-8, 2 for UTF-16le, 3 for UTF-16be.
  package static let textEncoding = 56
  /// A number of the app's own; Core Data leaves it 0.
  package static let userVersion = 60
  /// A number of the app's own; Core Data leaves it 0.
  package static let applicationID = 68
  /// The change counter with which the page count was written.
  package static let validForCounter = 92
}
