import SystemCalls

/// Divides large tables of an unchanging store.
package struct TableDivision: Sendable {
  private let reader: StoreReader
  private let least: Int64
  private let readers: Int
  let file: SourceFile
  private let pageSize: Int
  /// The tables of a store that is large enough to have large ones.
  let entries: [String: StoreReader.TableEntry]

  /// The bytes of leaves from which on a table is shared: of fewer a pass takes no longer than to
  /// open the store once more.
  private static let leastToShare: Int64 = 4 << 20
  /// The maximum number of readers; each has a page cache.
  private static let mostReaders = 8
  /// The bytes of a range's leaves, on the average: what is found in some ranges is held at once.
  private static let bytesOfRange: Int64 = 256 << 10

  /// Takes a connection to the store.
  ///
  /// - Parameters:
  ///   - least: the minimum of leaf bytes for a shared table.
  ///   - readers: the number of readers per table.
  /// - Throws: `StoreError`, `SystemCallError`.
  package init(
    _ reader: StoreReader, sharedFrom least: Int64? = nil, readers: Int? = nil
  ) throws {
    self.reader = reader
    self.least = least ?? Self.leastToShare
    self.readers =
      readers ?? min(Self.mostReaders, ThreadPool.processors)
    file = try SourceFile(reader.path)
    pageSize = try StoreHeader(ofSource: reader.path).pageSize
    entries = self.readers > 1 && file.byteCount >= self.least ? try reader.tableEntries() : [:]
  }

  /// A pass over a table, in ranges if it is large and the upper pages of its b-tree show the place
  /// of its rows.
  package func scan(of table: String) -> SharedScan {
    guard let entry = entries[table] else { return .whole }
    let runs = TableOutline(
      file: file, pageSize: pageSize, root: UInt32(clamping: entry.root),
      leavesOfRun: max(1, min(Self.bytesOfRange, least) / Int64(pageSize))
    ).runs
    guard runs.reduce(0, { $0 + $1.leaves }) * Int64(pageSize) >= least else { return .whole }
    var scan = SharedScan(runs, readers: readers)
    scan.table = table
    return scan
  }

  /// A connection of its own for the reader of a number; the first has that of the store.
  package func connection(_ number: Int) throws(StoreError) -> StoreConnection {
    number == 0 ? reader.connection : try StoreConnection.immutable(reader.path)
  }
}
