package import SystemCalls

/// A page that no sound store has; SQLite reports the details.
package struct UnsoundPage: Error {
  /// Creates the error.
  package init() {}
}

/// The sizes that the pages of a file and the cells on them have.
package struct PageSizes: Hashable, Sendable {
  /// The bytes of a page.
  package var page: Int
  /// Those of them that hold something.
  package var usable: Int

  /// Takes the sizes from the header of a store; nil where SQLite would not take it.
  package init?(header: [UInt8]) {
    guard header.count >= HeaderField.size else { return nil }
    let stated = Int(header[HeaderField.pageSize]) << 8 | Int(header[HeaderField.pageSize + 1])
    page = stated == 1 ? 65536 : stated
    usable = page - Int(header[HeaderField.reservedBytes])
    guard page >= 512, page & (page - 1) == 0, usable >= 480 else { return nil }
  }

  /// Reads the sizes from the header of a file; nil where SQLite would not take it.
  ///
  /// - Throws: `SystemCallError`, if the file cannot be read.
  package init?(of file: SourceFile) throws(SystemCallError) {
    let header = try file.header()
    self.init(header: header)
  }

  /// The bytes of a record that stay on the page of its cell.
  @inline(__always)
  func local(payload: Int, isIndex: Bool) -> Int {
    Self.local(payload: payload, usable: usable, isIndex: isIndex)
  }

  /// The same for pages with so many used bytes.
  @inline(__always)
  static func local(payload: Int, usable: Int, isIndex: Bool) -> Int {
    let most = isIndex ? (usable - 12) * 64 / 255 - 23 : usable - 35
    if payload <= most { return payload }
    let least = (usable - 12) * 32 / 255 - 23
    let size = least + (payload - least) % (usable - 4)
    return size <= most ? size : least
  }
}
