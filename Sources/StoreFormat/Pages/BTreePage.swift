/// A page of a b-tree, as far as its children are concerned.
struct BTreePage {
  private let bytes: [UInt8]
  private let start: Int

  init?(file: SourceFile, pageSize: Int, number: UInt32) {
    guard number > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: pageSize)
    let count = try? bytes.withUnsafeMutableBytes {
      try file.read($0, at: Int64(number - 1) * Int64(pageSize))
    }
    guard count == pageSize else { return nil }
    self.bytes = bytes
    start = number == 1 ? HeaderField.size : 0
    let types = [
      PageType.interiorTable, PageType.leafTable, PageType.interiorIndex, PageType.leafIndex,
    ]
    guard types.contains(bytes[start]) else { return nil }
  }

  var isInterior: Bool {
    bytes[start] == PageType.interiorTable || bytes[start] == PageType.interiorIndex
  }

  /// The pages below an interior page; those that its cells cannot name are left out.
  var children: [UInt32] {
    let cells = Int(integer(at: start + PageField.cellCount, count: 2))
    let named = (0..<cells).compactMap { cell -> UInt32? in
      let pointer = start + PageField.interiorPointer(cell)
      guard pointer + 2 <= bytes.count else { return nil }
      let offset = Int(integer(at: pointer, count: 2))
      return offset + 4 <= bytes.count ? integer(at: offset, count: 4) : nil
    }
    return named + [integer(at: start + PageField.rightmostChild, count: 4)]
  }

  private func integer(at offset: Int, count: Int) -> UInt32 {
    bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
