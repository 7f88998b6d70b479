import MigrationEngine
import Planning
import RowPrograms
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// How the store under assembly is shared between workers that write pages of it.
struct PageLayout: Hashable, Codable, Sendable {
  /// The pages below are SQLite's own part, the skeleton: the schema, the roots, the metadata.
  private(set) var firstPage: UInt32 = 0
  /// The root pages of tables and indexes, once there is a skeleton.
  private(set) var roots: [String: UInt32] = [:]
  /// The page of the skeleton that is not written yet, once there is one.
  private(set) var head: FirstPage?
  /// The identifier of the system start, while writes without sync count.
  ///
  /// nil if all is synced, because the start is unknown or other machines write too.
  var boot: [UInt8]?
  /// Whether workers write past the page cache.
  private(set) var isDirect = false
  /// Whether extents are short, and unused pages are removed from the result at the end.
  ///
  /// In a small store the rest of whole extents would be much.
  let isTight: Bool
  /// Whether the plan has one order, whose worker takes extents alone.
  let isSole: Bool
  /// Whether workers may run on other machines.
  ///
  /// They request extents from the coordinator, since a file that several machines append to may
  /// lose bytes, and they sync what they write.
  let hasRemoteWorkers: Bool
  /// The b-trees of the source that are moved.
  var moves: TreeMoves?
  /// Where they are.
  var source: String
  /// The encoding of all texts, in the source and in the result.
  let encoding: TextEncoding
  /// What rows look up, once it is made.
  var lookUps = LookUpLists()

  /// The bytes of a store from which free pages do not matter.
  static let smallBytes: Int64 = 8 << 20
  /// The pages that a worker takes at a time.
  var extentLength: UInt32 { Self.extentLength(isTight: isTight) }
  /// The bytes of an extent of a result of about so many bytes.
  static func extentBytes(ofResult bytes: Int64) -> Int64 {
    Int64(extentLength(isTight: bytes < smallBytes)) * Int64(PageGeometry.pageSize)
  }

  private static func extentLength(isTight: Bool) -> UInt32 {
    isTight ? Extent.shortLength : Extent.length
  }

  /// Records what is read, and whether unused pages matter in so small a store.
  init(
    moves: TreeMoves?, source: FilePath, encoding: TextEncoding, sourceBytes: Int64, isSole: Bool,
    hasRemoteWorkers: Bool = false
  ) {
    self.isSole = isSole && !hasRemoteWorkers
    self.hasRemoteWorkers = hasRemoteWorkers
    self.encoding = encoding
    isTight = sourceBytes < Self.smallBytes
    self.moves = moves
    self.source = source.string
    boot = hasRemoteWorkers ? nil : Processes.bootID
  }

  /// Has SQLite make the store without its rows, and begins the result with all pages of that but
  /// the first.
  mutating func placeSkeleton(
    schema: StoreSchema, frame: StoreFrame, in paths: MigrationPaths
  ) throws {
    let bytes: [UInt8]
    (roots, bytes) = try EmptyStore.contents(schema: schema, encoding: encoding, frame: frame)
    guard let skeleton = Skeleton(bytes) else { throw PageError(.miswritten(page: 1)) }
    head = skeleton.firstPage
    firstPage = skeleton.pageCount + 1
    while PageGeometry.isReserved(firstPage) { firstPage += 1 }
    let result = try Files.open(paths.result, mode: .readWrite)
    try result.closeAfter {
      let file = PageFile(result)
      let pointers = PointerMap(file)
      try skeleton.copy(to: file, pointers: pointers)
      try pointers.flush()
    }
  }

  /// Makes the files that workers write to, for a result of about so many bytes; a result that is
  /// there stays.
  ///
  /// No worker runs yet, so the log of claims starts over, however long an earlier run or damage
  /// has made it. The resumed manifests list the extents that are taken.
  mutating func prepare(_ paths: MigrationPaths, expecting bytes: Int64) throws {
    var files: [(FilePath, FileDescriptor.OpenOptions)] = [(paths.result, [.create])]
    if !isSole { files.append((paths.claims, [.create, .truncate])) }
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
    // Every assembly writes the first page again, as the last one, so its content is not needed.
    return (try? file.write(page: 1, from: page)) != nil
  }

  /// What the worker of an order needs.
  func work(
    _ order: WorkOrder, plan: MigrationPlan, schema: StoreSchema, paths: MigrationPaths
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
      file: paths.result.string,
      claims: isSole || hasRemoteWorkers ? nil : paths.claims.string, firstPage: firstPage,
      indexes: indexes, rowsBefore: before, syncs: boot == nil, isDirect: isDirect)
    work.asksForExtents = hasRemoteWorkers
    work.encoding = encoding
    work.extentLength = extentLength
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
  var claims: FilePath { WorkFile.claims.path(in: work) }
  /// `…godwit/renumbered`, lists of the leaves whose rows were renumbered.
  var renumbered: FilePath { WorkFile.renumbered.path(in: work) }
  /// `…godwit/lookups`, what rows look up in others.
  var lookUps: FilePath { WorkFile.lookUps.path(in: work) }
  /// `…godwit/places.sqlite`, the places of rows in relationships that had no order, where SQLite
  /// has to make them.
  var places: FilePath { WorkFile.places.path(in: work) }
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
