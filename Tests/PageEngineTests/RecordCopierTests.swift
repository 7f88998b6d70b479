import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Records that are copied as bytes, against the same rows made value by value.
@Suite(.scratchFolder) struct RecordCopierTests {
  private static let types = ["INTEGER", "FLOAT", "TIMESTAMP", "VARCHAR", "BLOB", "INTEGER"]
  private static let affinities: [Affinity] = [.integer, .real, .numeric, .text, .none]

  private final class NoPointers: PointerMapping {
    func set(_ page: UInt32, kind: PagePointer, parent: UInt32) {}
  }

  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  /// Makes a table with values of all kinds in all columns, with rows that have fewer columns than
  /// others and rows from which a column was dropped; its root and pages.
  private func make(
    _ random: inout SeededRandom, isOdd: Bool
  ) throws -> (root: UInt32, pages: UInt32) {
    let usual = [
      ["NULL", "0", "1", "7", "300", "-70000", "5000000000", "9223372036854775807"],
      ["NULL", "2.5", "1e300", "3", "0", "-0.5"], ["NULL", "11.25", "9.5", "7"],
      ["NULL", "''", "'a'", "'é and more'", "printf('%.200c', 'x')"],
      ["NULL", "x''", "x'01'", "zeroblob(130)", "zeroblob(40)"],
      ["NULL", "-1", "2", "1000"],
    ]
    let odd = ["'abc'", "'7'", "2.0", "x'05'", "1e3", "9007199254740993", "printf('%.5000c', 'y')"]
    var rows: [String] = []
    for row in 0..<1500 {
      let entity =
        ["1", "1", "2", "3", "4", "NULL", isOdd ? "'1'" : "1"]
        .randomElement(using: &random) ?? "1"
      let values = usual.map { list in
        isOdd && Int.random(in: 0..<20, using: &random) == 0
          ? odd.randomElement(using: &random) ?? "" : list.randomElement(using: &random) ?? ""
      }
      let count = ["NULL", "1", "2", "300"].randomElement(using: &random) ?? "1"
      rows.append("(\(row * 3 - 900), \(entity), \(count), \(values.joined(separator: ", ")), 1)")
    }
    let queue = try DatabaseQueue(path: path.string)
    let found = try queue.writeWithoutTransaction { db in
      let columns = Self.types.enumerated().map { "C\($0) \($1)" }.joined(separator: ", ")
      let isShort = Bool.random(using: &random)
      let first = rows.prefix(400).map { isShort ? $0 : $0.dropLast() + ", 2)" }
      try db.execute(
        sql: """
          CREATE TABLE T (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \(columns)
            \(isShort ? "" : ", D INTEGER"), E);
          INSERT INTO T VALUES \(first.joined(separator: ", "));
          ALTER TABLE T DROP COLUMN E;
          \(isShort ? "ALTER TABLE T ADD COLUMN D INTEGER;" : "")
          INSERT INTO T VALUES \(rows.dropFirst(400).joined(separator: ", "));
          """)
      return try Row.fetchOne(
        db, sql: "SELECT rootpage, (SELECT * FROM pragma_page_count) FROM sqlite_schema")
    }
    try queue.close()
    return (try #require(found)[0], try #require(found)[1])
  }

  /// A program of three entities that copies columns in any order, and puts constants.
  private func program(_ random: inout SeededRandom) -> FieldProgram {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: 4000, alignment: 8)
    defer { bytes.deallocate() }
    bytes.initializeMemory(as: UInt8.self, repeating: 0x61, count: 4000)
    let width = Int.random(in: 1...9, using: &random)
    let program = FieldProgram(entities: [(1, 7), (2, 300), (3, 8)], columns: width)
    // The longest leaves room for some records on their leaf, and for others not.
    let length = Bool.random(using: &random) ? 3900 : 10
    let constants = [
      Field(value: 70_000, scratch: bytes), Field(type: UInt64(13 + 2 * length), body: bytes),
    ].map { program.add(constant: $0) }
    for column in 0..<width {
      let source = Int.random(in: 0..<7, using: &random)
      let usual: Affinity = [.integer, .real, .numeric, .text, .none, .integer, .integer][source]
      let affinity =
        Int.random(in: 0..<4, using: &random) > 0
        ? usual : Self.affinities.randomElement(using: &random) ?? usual
      for entity in 0..<3 {
        // Now and then entities differ.
        let own = Int.random(in: 0..<4, using: &random) == 0 ? (source + 1) % 7 : source
        let isConstant = Int.random(in: 0..<5, using: &random) == 0
        let constant = [0, constants[0], constants[1]].randomElement(using: &random) ?? 0
        let fills = Int.random(in: 0..<6, using: &random) == 0
        program.set(
          isConstant
            ? FieldStep(kind: .constant, constant: constant)
            : FieldStep(
              kind: .copy, affinity: affinity, source: own + 3, constant: fills ? constant : 0),
          entity: entity, column: column)
      }
    }
    return program
  }

  /// What a piece becomes.
  private struct Made: Equatable {
    var pages: [UInt8] = []
    var runs: [UInt8] = []
    var rows: Int64 = 0
    var leftBehind: Int64 = 0
    var entities: [Int64] = []
    var unknown: [Int64] = []
    var indexes: [IndexRuns] = []
  }

  private func copy(
    _ form: TableForm, program: FieldProgram, copies: Bool
  ) throws -> (made: Made, copied: Int) {
    func open(_ name: String) throws -> FileDescriptor {
      try FileDescriptor.open(
        ScratchFolder.current.appending(name), .readWrite, options: [.create, .truncate],
        permissions: .ownerReadWrite)
    }
    let (source, file, list) = (
      try FileDescriptor.open(path, .readOnly), try open("pages"), try open("runs")
    )
    defer { for file in [source, file, list] { try? file.close() } }
    let runs = RunFile(list)
    let pages = ExtentWriter(
      file: PageFile(file),
      source: ClaimLog(descriptor: nil, firstPage: 3, extentLength: Extent.shortLength),
      pointers: NoPointers())
    let collectors = [[1], [2, 3]].map { columns in
      KeyCollector(
        form: .keys, columns: columns, descending: columns.map { _ in false }, file: runs,
        bytes: 1 << 14, scratch: SortScratch())
    }
    let writer = PieceWriter(pages: pages, runs: runs, collectors: collectors, names: nil)
    let cursor = TableCursor(file: PageFile(source), form: form, width: 10)
    let copier = try #require(writer.copier(cursor, program: program))
    try cursor.seek(.min)
    var copied = 0
    while try cursor.advance() {
      guard let record = cursor.wholeRecord, let from = record.baseAddress else { continue }
      if copier.measure(from, total: record.count, key: cursor.key, .unknown) != nil { copied += 1 }
    }
    try cursor.seek(-500)
    var made = Made()
    loop: while true {
      let halt = try writer.copy(
        cursor, program: program, copier: copies ? copier : nil, last: 3000, rows: 300)
      switch halt {
      case .end: break loop
      case .pause: continue
      case .fallback(let key): made.unknown.append(key)
      }
    }
    _ = try writer.finish()
    for collector in collectors { made.indexes.append(try collector.finish()) }
    _ = try pages.finish()
    made.rows = writer.rows
    made.leftBehind = program.leftBehind
    made.entities = program.rowsMade.map(\.rows)
    made.pages = try contents(file)
    made.runs = try contents(list)
    #expect(hasCleanGaps(made.pages))
    return (made, copied)
  }

  /// Whether leaves have nothing between the pointers of their cells and the first of these, such
  /// as what was in memory before.
  private func hasCleanGaps(_ pages: [UInt8]) -> Bool {
    let leafTable: UInt8 = 13
    func number(_ at: Int) -> Int { Int(pages[at]) << 8 | Int(pages[at + 1]) }
    return stride(from: 2 * 4096, to: pages.count, by: 4096).allSatisfy { page in
      guard pages[page] == leafTable, number(page + 5) >= 8 + 2 * number(page + 3) else {
        return true
      }
      return pages[page + 1] == 0 && pages[page + 7] == 0
        && pages[(page + 8 + 2 * number(page + 3))..<(page + number(page + 5))]
          .allSatisfy { $0 == 0 }
    }
  }

  private func contents(_ file: FileDescriptor) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(try file.seek(offset: 0, from: .end)))
    let count = try bytes.withUnsafeMutableBytes { try file.read(fromAbsoluteOffset: 0, into: $0) }
    #expect(count == bytes.count)
    return bytes
  }

  @Test(arguments: 0..<90)
  func `records that are copied are those that are made value by value`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let isOdd = seed % 3 == 2
    let (root, pages) = try make(&random, isOdd: isOdd)
    let form = TableForm(
      pageSize: 4096, pageCount: pages, root: root, places: [-1, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      isReal: [false, false, false, false, seed % 2 == 0] + Array(repeating: false, count: 5),
      keyPlace: 0)
    var (first, second) = (random, random)
    let (plain, _) = try copy(form, program: program(&first), copies: false)
    let (made, _) = try copy(form, program: program(&second), copies: true)
    #expect(made == plain)
    #expect(plain.rows > 0 && plain.rows + plain.leftBehind + Int64(plain.unknown.count) > 1000)
  }

  @Test func `most usual records are copied`() throws {
    var random = SeededRandom(seed: 5)
    let (root, pages) = try make(&random, isOdd: false)
    let form = TableForm(
      pageSize: 4096, pageCount: pages, root: root, places: [-1, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      isReal: Array(repeating: false, count: 10), keyPlace: 0)
    let program = FieldProgram(entities: [(1, 7), (2, 300), (3, 8)], columns: 6)
    for (column, affinity) in zip(0..., [.integer, .real, .numeric, .text, .none] as [Affinity]) {
      for entity in 0..<3 {
        program.set(
          FieldStep(kind: .copy, affinity: affinity, source: column + 3), entity: entity,
          column: column)
      }
    }
    let (made, copied) = try copy(form, program: program, copies: true)
    #expect(copied > 550 && made.rows > 800)
  }

  @Test func `integers that records keep for reals are not copied as integers`() throws {
    var random = SeededRandom(seed: 5)
    let (root, pages) = try make(&random, isOdd: false)
    let made = try [false, true].map { copies in
      let program = FieldProgram(entities: [(1, 7), (2, 300), (3, 8)], columns: 1)
      for entity in 0..<3 {
        program.set(
          FieldStep(kind: .copy, affinity: .none, source: 4), entity: entity, column: 0)
      }
      let form = TableForm(
        pageSize: 4096, pageCount: pages, root: root, places: [-1, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        isReal: (0..<10).map { $0 == 4 }, keyPlace: 0)
      return try copy(form, program: program, copies: copies).made
    }
    #expect(made[0] == made[1] && made[0].rows > 800)
  }

  @Test func `a program that makes values is not one of copies`() throws {
    var random = SeededRandom(seed: 5)
    let (root, pages) = try make(&random, isOdd: false)
    let form = TableForm(
      pageSize: 4096, pageCount: pages, root: root, places: [-1, 1, 2, 3],
      isReal: Array(repeating: false, count: 4), keyPlace: 0)
    let program = FieldProgram(entities: [(1, 7)], columns: 1)
    program.set(
      FieldStep(kind: .toReal, affinity: .real, source: 3), entity: 0, column: 0)
    #expect(RecordCopier(program, form: form, wanted: []) == nil)
  }
}
