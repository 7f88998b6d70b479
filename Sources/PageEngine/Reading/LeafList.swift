/// Collects leaves of an index, each with the cell that follows it; no cell follows the last one.
package final class LeafList {
  private let file: RunFile
  private var bytes: [UInt8] = []
  /// Where they are, after `flush`.
  package private(set) var sections: [Section] = []

  package init(_ file: RunFile) { self.file = file }

  /// Adds a leaf and the cell that follows it.
  func add(_ page: UInt32, cell: UnsafeRawBufferPointer) throws(PageError) {
    add(leaf: page)
    try add(cell: cell)
  }

  /// Adds a leaf, whose cell is the first of another list, which follows this one.
  func add(leaf page: UInt32) {
    withUnsafeBytes(of: page) { bytes += $0 }
  }

  /// Adds the cell that follows the leaf before.
  func add(cell: UnsafeRawBufferPointer) throws(PageError) {
    withUnsafeBytes(of: UInt32(cell.count)) { bytes += $0 }
    bytes += cell
    if bytes.count >= 1 << 16 { try flush() }
  }

  package func flush() throws(PageError) {
    guard !bytes.isEmpty else { return }
    let written = Result { () throws(PageError) in
      try bytes.withUnsafeBytes { raw in
        Result { () throws(PageError) in try file.append(raw, count: 1) }
      }.get()
    }
    sections.append(try written.get())
    bytes.removeAll(keepingCapacity: true)
  }
}
