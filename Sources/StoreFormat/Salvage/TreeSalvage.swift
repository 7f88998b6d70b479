/// Reads what is left of a b-tree, and records where something is missing.
///
/// A page is used if it is named once, or if the pointer map assigns it there. Of its cells those
/// are used that lie within the page, overlap no other, have a key between the separators that lead
/// to the page, and rise with certainty: if two contradict each other, neither is used. So a row is
/// salvaged as its table has it, or not at all.
final class TreeSalvage {
  static let depthLimit = 20

  /// Keys that may have been on damaged pages: those between two rows that were taken.
  struct Gap {
    /// The last key in front of it; nil where there is none.
    var after: Int64?
    /// The first key behind it; nil where there is none.
    var before: Int64?
  }

  /// A record that is whole, and longer than those that are read.
  struct TooLong: Error {
    let key: Int64
    let bytes: Int64
  }

  private let file: DamagedFile
  private let longest: Int
  private let claims: PageClaims
  private let kind: TreePage.Kind
  private let mostColumns: Int
  /// Receives each row: its key, its values, and whether all of its page is as it should be.
  private let take: (Int64, [SalvagedValue], Bool) throws -> Bool

  /// Damaged pages, in the order in which they were met.
  private(set) var damagedPages: [UInt32] = []
  /// Where keys are missing, in their order.
  private(set) var gaps: [Gap] = []
  private(set) var rows: Int64 = 0
  /// Whether the tree could not be read at all.
  private(set) var isRootLost = false
  private var lastKey: Int64?
  private var open: Gap?
  /// How many pages that may hide cells are being read.
  private var holds = 0
  private var damaged: Set<UInt32> = []

  init(
    _ file: DamagedFile, claims: PageClaims, kind: TreePage.Kind, mostColumns: Int = .max,
    take: @escaping (Int64, [SalvagedValue], Bool) throws -> Bool
  ) {
    (self.file, self.claims, self.kind, self.mostColumns) = (file, claims, kind, mostColumns)
    self.take = take
    longest = Int(clamping: LongRow.limit(memory: file.memory))
  }

  /// Whether anything is missing, or may be.
  var isWhole: Bool { damagedPages.isEmpty && gaps.isEmpty && !isRootLost }

  func salvage(root: UInt32) throws {
    guard let page = try page(root, as: .root) else {
      isRootLost = true
      return
    }
    try read(page, number: root, after: nil, upTo: nil, depth: 0)
    if let open { gaps.append(open) }
    open = nil
  }

  private func page(_ number: UInt32, as claim: PageClaims.Claim) throws -> TreePage? {
    guard try claims.belongs(number, to: claim), let bytes = try file.page(number),
      let page = TreePage(bytes, number: number, usable: file.usable, kind: kind)
    else {
      lose(page: number)
      return nil
    }
    return page
  }

  /// Notes a damaged page, and that keys may be missing from here on.
  private func lose(page: UInt32) {
    if damaged.insert(page).inserted { damagedPages.append(page) }
    if open == nil { open = Gap(after: lastKey) }
  }

  private func read(
    _ page: TreePage, number: UInt32, after low: Int64?, upTo high: Int64?, depth: Int
  ) throws {
    let hides = page.mayHideCells
    if hides {
      lose(page: number)
      holds += 1
    }
    if page.isLeaf {
      try readLeaf(page: page, number: number, after: low, upTo: high)
    } else {
      try readInterior(page: page, number: number, after: low, upTo: high, depth: depth)
    }
    if hides { holds -= 1 }
  }

  private func readInterior(
    page: TreePage, number: UInt32, after low: Int64?, upTo high: Int64?, depth: Int
  ) throws {
    guard depth + 1 < Self.depthLimit else { return lose(page: number) }
    let sure = kind == .table ? certain(page, after: low, upTo: high) : []
    var last = low
    for (index, cell) in page.cells.enumerated() {
      guard let cell else {
        lose(page: number)
        continue
      }
      var end = cell.key
      if kind == .table, !sure.contains(index) {
        lose(page: number)
        // Its end is unknown, but the start of what follows is known.
        end =
          page.cells.indices[(index + 1)...].first { sure.contains($0) }
          .flatMap { page.cells[$0]?.key } ?? high ?? .max
      }
      try descend(to: cell.child, from: number, after: last, upTo: end, depth: depth)
      if kind == .table, sure.contains(index) { last = cell.key }
      if kind == .index { try entry(cell, page: page, number: number) }
    }
    try descend(to: page.rightmost, from: number, after: last, upTo: high, depth: depth)
  }

  private func descend(
    to child: UInt32, from parent: UInt32, after low: Int64?, upTo high: Int64?, depth: Int
  ) throws {
    guard let page = try page(child, as: .child(of: parent)) else { return }
    try read(page, number: child, after: low, upTo: high, depth: depth + 1)
  }

  private func readLeaf(
    page: TreePage, number: UInt32, after low: Int64?, upTo high: Int64?
  ) throws {
    guard kind == .table else {
      for cell in page.cells {
        if let cell { try entry(cell, page: page, number: number) } else { lose(page: number) }
      }
      return
    }
    let sure = certain(page, after: low, upTo: high)
    let shared = sharedChains(of: page)
    for (index, cell) in page.cells.enumerated() {
      guard let cell, sure.contains(index), lastKey.map({ $0 < cell.key }) ?? true,
        !shared.contains(cell.overflow), let record = try record(cell, page: page, number: number),
        let values = SalvagedRecord.values(of: record, mostColumns: mostColumns),
        try take(cell.key, values, !page.isFlawed)
      else {
        lose(page: number)
        continue
      }
      rows += 1
      close(before: cell.key)
      lastKey = cell.key
    }
  }

  /// Ends the keys that may be missing with a row that is there.
  private func close(before key: Int64) {
    guard let gap = open, holds == 0 else { return }
    // No key lies between neighbours.
    let isEmpty = gap.after.map { $0 != .max && $0 + 1 >= key } ?? (key == .min)
    if !isEmpty { gaps.append(Gap(after: gap.after, before: key)) }
    open = nil
  }

  /// Takes an entry of an index, whose last value is the key of its row.
  private func entry(_ cell: TreePage.Cell, page: TreePage, number: UInt32) throws {
    guard let record = try record(cell, page: page, number: number),
      let values = SalvagedRecord.values(of: record), case .integer(let key)? = values.last,
      try take(key, values, !page.isFlawed)
    else { return lose(page: number) }
    rows += 1
  }

  // MARK: Records

  /// A record with what lies in its chain; nil where the chain is not whole.
  private func record(
    _ cell: TreePage.Cell, page: TreePage, number: UInt32
  ) throws -> [UInt8]? {
    var record = Array(page.bytes(in: cell.local))
    if record.count == cell.payload { return record }
    var (next, claim) = (cell.overflow, PageClaims.Claim.chain(of: number))
    var left = cell.payload - record.count
    while left > 0 {
      guard try claims.belongs(next, to: claim), let bytes = try file.page(next) else {
        return nil
      }
      let count = min(file.usable - 4, left)
      if cell.payload <= longest { record += bytes[4..<4 + count] }
      left -= count
      claim = .next(to: next)
      next = UInt32(PageBytes.number(bytes, at: 0, count: 4) ?? 0)
    }
    // A chain that continues is too long, or leads somewhere else.
    guard next == 0 else { return nil }
    if cell.payload > longest { throw TooLong(key: cell.key, bytes: Int64(cell.payload)) }
    return record
  }

  /// First pages of chains that several cells of a page name.
  private func sharedChains(of page: TreePage) -> Set<UInt32> {
    var (seen, shared): (Set<UInt32>, Set<UInt32>) = ([], [])
    for cell in page.cells.compactMap(\.self) where cell.overflow != 0 {
      if !seen.insert(cell.overflow).inserted { shared.insert(cell.overflow) }
    }
    return shared
  }

  // MARK: Keys

  /// The cells whose keys are within bounds and rise with certainty: those that every longest
  /// rising sequence of keys has.
  private func certain(_ page: TreePage, after low: Int64?, upTo high: Int64?) -> Set<Int> {
    let within = page.cells.indices.filter { index in
      guard let key = page.cells[index]?.key else { return false }
      return (low.map { key > $0 } ?? true) && (high.map { key <= $0 } ?? true)
    }
    return Rising.certain(within.map { page.cells[$0]?.key ?? 0 }).reduce(into: []) {
      $0.insert(within[$1])
    }
  }
}

/// Rising sequences of keys.
enum Rising {
  /// The places that every longest rising sequence of some keys has.
  static func certain(_ keys: [Int64]) -> [Int] {
    if zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) { return Array(keys.indices) }
    let ending = lengths(of: keys)
    let beginning = Array(lengths(of: keys.reversed().map { ~$0 }).reversed())
    let longest = ending.max() ?? 0
    var counts: [Int: Int] = [:]
    let part = keys.indices.filter { ending[$0] + beginning[$0] - 1 == longest }
    for index in part { counts[ending[index], default: 0] += 1 }
    return part.filter { counts[ending[$0]] == 1 }
  }

  /// The length of the longest rising sequence that ends at each place.
  private static func lengths(of keys: [Int64]) -> [Int] {
    var ends: [Int64] = []
    return keys.map { key in
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if ends[middle] < key { low = middle + 1 } else { high = middle }
      }
      if low == ends.count { ends.append(key) } else { ends[low] = key }
      return low + 1
    }
  }
}
