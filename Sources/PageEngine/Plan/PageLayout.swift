import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// How the store under assembly is shared between workers that write pages of it.
struct PageLayout: Hashable, Codable, Sendable {
  /// The pages below are for SQLite's own part: the schema, the roots, the metadata.
  var firstPage: UInt32
  /// The start of the system since which what was written is there, synced or not; nil where the
  /// system does not say when it started, and all is synced.
  var boot: [UInt8]?
  /// Whether workers write past the page cache.
  private(set) var isDirect = false
  /// Whether the pages that nobody uses are taken out of the result in the end: what reserves and
  /// extents leave over is much for a small store.
  let isTight: Bool
  /// The b-trees of the source that are moved.
  var moves: TreeMoves?
  /// Where they are.
  var source: String
  /// That of all texts, in the source and in the result.
  let encoding: TextEncoding
  /// What rows look up, once it is made.
  var lookUps = LookUpLists()

  /// The bytes of a store from which free pages do not matter.
  static let smallBytes: Int64 = 8 << 20
  /// The bytes of an extent.
  static let extentBytes = Int64(Extent.length) * Int64(PageGeometry.pageSize)

  /// Leaves room for the schema, and for metadata of so many bytes with the archive of the model.
  init(
    schema: StoreSchema, moves: TreeMoves?, source: FilePath, encoding: TextEncoding,
    sourceBytes: Int64, metadataBytes: Int
  ) {
    self.encoding = encoding
    isTight = sourceBytes < Self.smallBytes
    self.moves = moves
    self.source = source.string
    let statements =
      schema.keyedTables.map(\.createStatement) + schema.joinTables.map(\.createStatement)
      + schema.allIndexes.map(\.createStatement)
    let units = statements.reduce(0) { $0 + $1.utf8.count + 200 }
    let text = encoding.isUTF16 ? 2 * units : units
    let roots = statements.count + schema.joinTables.count + 8
    // The archive of the model takes far less than this for real models; metadata hold whatever an
    // app puts there.
    let others = 256 + statements.count * 4 + metadataBytes / 2048
    firstPage = UInt32(clamping: roots + text / 1024 + others)
    boot = Processes.bootID
    while PageGeometry.isReserved(firstPage) { firstPage += 1 }
  }

  /// Makes the files that workers write to, for a result of about so many bytes; a result that is
  /// there stays.
  ///
  /// Nobody works yet, so the log of claims begins anew, however long an earlier run or some damage
  /// has made it: the manifests that are taken up say which extents are no longer to be had.
  mutating func prepare(_ paths: MigrationPaths, expecting bytes: Int64) throws {
    let files: [(FilePath, FileDescriptor.OpenOptions)] = [
      (paths.result, [.create]), (paths.claims, [.create, .truncate]),
    ]
    for (path, options) in files {
      let file = try Files.open(
        path, mode: .readWrite, options: options, permissions: .ownerReadWrite)
      try file.close()
    }
    // A few pages are with the disk sooner by one sync than one after the other.
    guard !isTight, let file = try Files.openDirect(paths.result) else { return }
    try file.closeAfter {
      isDirect = Self.takesPages(PageFile(file))
      // Writers that do not lengthen a file need not wait for each other. It is a hint: where there
      // is no room for all of it, writing the first page that does not fit is an error.
      if isDirect { try? Files.reserve(file, bytes: bytes) }
    }
  }

  /// Whether a file opened for direct writing takes pages from memory as the writers hold them.
  private static func takesPages(_ file: PageFile) -> Bool {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: PageGeometry.pageSize)
    defer { page.deallocate() }
    page.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    // Every assembly writes the first page anew, and last of all, so nothing of it is needed.
    return (try? file.write(page: 1, from: page)) != nil
  }

  /// What the worker of an order needs.
  func work(
    _ order: WorkOrder, plan: MigrationPlan, schema: StoreSchema, paths: MigrationPaths,
    digestsRows: Bool
  ) -> PageWork {
    var indexes: [String: [PageIndex]] = [:]
    var before: [Int: Int64] = [:]
    for piece in order.pieces {
      let table = piece.destinationTable
      indexes[table] = pageIndexes(of: table, schema: schema)
      guard
        plan.program.joins.contains(where: { $0.destinationTable == table && !$0.keepsRowNumbers })
      else { continue }
      before[piece.number] = plan.workOrders.flatMap(\.pieces).reduce(0) { sum, other in
        other.destinationTable == table && other.keys.first < piece.keys.first
          ? sum + other.rows : sum
      }
    }
    var work = PageWork(
      file: paths.result.string, claims: paths.claims.string, firstPage: firstPage,
      indexes: indexes, rowsBefore: before, digestsRows: digestsRows, syncs: boot == nil,
      isDirect: isDirect)
    work.encoding = encoding
    work.externalColumns = schema.externalColumns.filter { indexes.keys.contains($0.key) }
      .mapValues { $0.map(\.place) }
    for piece in order.pieces {
      work.tables[piece.number] = moves?.tables[piece.destinationTable]?.moved
      work.moves[piece.number] = piece.movedIndexes.compactMap { moves?.indexes[$0] }
    }
    work.places = lookUps.hasTables ? paths.places.string : nil
    work.lookUps = lookUps
    work.lookUpFile = lookUps.isEmpty ? nil : paths.lookUps.string
    return work
  }

  /// The indexes of a table that need not be made by SQLite, with their places in the source.
  func pageIndexes(of table: String, schema: StoreSchema) -> [PageIndex] {
    var found = PageIndex.all(of: table, schema: schema)
    for index in found.indices { found[index].root = moves?.indexes[found[index].name]?.root }
    return found
  }
}

extension MigrationPaths {
  /// `…godwit/claims`, in which workers take pages of the result.
  var claims: FilePath { work.appending("claims") }
  /// `…godwit/skeleton.sqlite`, the result without its objects.
  var skeleton: FilePath { work.appending("skeleton.sqlite") }
  /// `…godwit/renumbered`, lists of the leaves whose rows were numbered anew.
  var renumbered: FilePath { work.appending("renumbered") }
  /// `…godwit/lookups`, what rows look up in others.
  var lookUps: FilePath { work.appending("lookups") }
  /// `…godwit/places.sqlite`, the places of rows in relationships that had no order, where SQLite
  /// has to make them.
  var places: FilePath { work.appending("places.sqlite") }
}

extension PageIndex {
  /// The indexes of a table that need not be made by SQLite.
  static func all(of table: String, schema: StoreSchema) -> [PageIndex] {
    var result: [PageIndex] = []
    let columns: [String]
    if let join = schema.joinTables.first(where: { $0.name == table }) {
      columns = join.columnNames
      result.append(
        PageIndex(
          name: "sqlite_autoindex_\(table)_1", columns: [0, 1], descending: [false, false],
          isUnique: true, form: .integerPair))
    } else if let entity = schema.keyedTable(named: table) {
      columns = entity.columns.map(\.name)
    } else {
      return []
    }
    for index in schema.allIndexes where index.table == table && index.condition == nil {
      let places = index.parts.compactMap { columns.firstIndex(of: $0.column) }
      guard places.count == index.parts.count, !places.isEmpty else { continue }
      let form = form(of: index, places: places, schema: schema)
      // The key itself is no value of the record.
      guard let form, form == .integerPair || !places.contains(0) else { continue }
      result.append(
        PageIndex(
          name: index.name, columns: places, descending: index.parts.map { !$0.isAscending },
          isUnique: index.isUnique, form: form))
    }
    return result
  }

  private static func form(
    of index: Index, places: [Int], schema: StoreSchema
  ) -> Form? {
    let isAscending = index.parts.allSatisfy(\.isAscending)
    guard let table = schema.keyedTable(named: index.table) else {
      return places.count == 2 && isAscending && Set(places) == [0, 1] ? .integerPair : nil
    }
    if places.count == 1, isAscending, !index.isUnique, table.columns[places[0]].type == .integer {
      return .integer
    }
    return .keys
  }
}
