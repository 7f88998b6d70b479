import Planning
import RowPrograms
import TestSupport
import Testing

struct PartitionPlannerTests {
  /// Tables `T0`, `T1`, … and references between some of them.
  private func program(_ count: Int, references: [(Int, Int)] = []) -> MigrationProgram {
    MigrationProgram.made(
      tables: (0..<count).map { "T\($0)" },
      references: references.map { ("T\($0)", "T\($1)") })
  }

  private func slices(_ rows: [Int64], bytesPerRow: Int64 = 10) -> TableStatistics {
    var last: Int64 = 0
    return TableStatistics(
      slices: rows.map { count in
        last += count
        return .init(lastKey: last, rows: count, bytes: count * bytesPerRow)
      })
  }

  private func plan(
    _ program: MigrationProgram, _ statistics: [String: TableStatistics], workers: Int = 2,
    orderWork: Int64 = 1 << 30, keepsSlices: Bool = false
  ) -> MigrationPlan {
    PartitionPlanner(
      program: program, statistics: statistics,
      granularity: .init(workers: workers, orderWork: orderWork, keepsSlices: keepsSlices)
    ).plan()
  }

  @Test(arguments: [0, 1, 7, 599, 600, 601] as [Int64])
  func `rows that others take are left out of every slice`(taken: Int64) {
    let all = slices([100, 0, 300, 200])
    let left = all.taking(taken)
    #expect(left.rows == taken)
    #expect(left.bytes == all.bytes)
    #expect(left.slices.map(\.lastKey) == all.slices.map(\.lastKey))
    #expect(left.slices.allSatisfy { $0.rows >= 0 })
    #expect(left.slices[1].rows == 0)
    #expect(taken != 599 || left.slices.map(\.rows) == [99, 0, 300, 200])
  }

  @Test(arguments: [1, 3, 8], [1 << 10, 1 << 20, 1 << 30, 0] as [Int64])
  func `every key is in one piece, and every row is counted once`(
    workers: Int, orderWork: Int64
  ) {
    let keepsSlices = orderWork == 0
    var random = SeededRandom(seed: UInt64(workers))
    let statistics = Dictionary(
      uniqueKeysWithValues: (0..<6).map { index in
        let rows = (0..<Int.random(in: 1...20, using: &random)).map { _ in
          Int64.random(in: 1...9_000, using: &random)
        }
        return ("T\(index)", slices(rows, bytesPerRow: 100))
      })
    let plan = plan(
      program(6, references: [(0, 1), (2, 1)]), statistics, workers: workers,
      orderWork: orderWork, keepsSlices: keepsSlices)
    let pieces = plan.workOrders.flatMap(\.pieces)
    #expect(Set(pieces.map(\.number)).count == pieces.count)
    for (table, expected) in statistics {
      let own = pieces.filter { $0.destinationTable == table }.sorted {
        $0.keys.first < $1.keys.first
      }
      #expect(own.first?.keys.first == .min)
      #expect(own.last?.keys.last == .max)
      for (one, next) in zip(own, own.dropFirst()) {
        #expect(one.keys.last + 1 == next.keys.first)
      }
      #expect(own.reduce(0) { $0 + $1.rows } == expected.rows)
      #expect(own.reduce(0) { $0 + $1.bytes } == expected.bytes)
    }
    #expect(plan.rows == statistics.values.reduce(0) { $0 + $1.rows })
    #expect(plan.workOrders.map(\.number) == Array(1...plan.workOrders.count))
    #expect(plan.workOrders.map(\.bytes) == plan.workOrders.map(\.bytes).sorted(by: >))
  }

  @Test func `tables that refer to each other are one partition, largest first`() {
    let million: Int64 = 1_000_000
    let plan = plan(
      program(5, references: [(0, 2), (2, 3)]),
      [
        "T0": slices([million]), "T1": slices([500 * million]), "T2": slices([2 * million]),
        "T3": slices([3 * million]),
      ])
    #expect(plan.partitions.map(\.tables) == [["T1"], ["T0", "T2", "T3"]])
    #expect(plan.partitions.map(\.number) == [1, 2])
    #expect(plan.partitions.map(\.rows) == [500 * million, 6 * million])
    // A table without rows belongs to no work order.
    #expect(!plan.partitions.flatMap(\.tables).contains("T4"))
  }

  @Test func `rows that look others up are more work than their bytes tell`() throws {
    let million: Int64 = 1_000_000
    let statistics = ["T0": slices([million, million]), "T1": slices([million, million])]
    #expect(plan(program(2), statistics).partitions.map(\.tables) == [["T0"], ["T1"]])
    var program = program(2)
    program.lookUp("T0", for: 1)
    let plan = plan(program, statistics)
    #expect(plan.partitions.map(\.tables) == [["T1"], ["T0"]])
    #expect(plan.workOrders.first?.pieces.map(\.destinationTable) == ["T1"])
  }

  @Test func `rows that are only passed over are little work`() throws {
    let all = slices(Array(repeating: 10_000, count: 100), bytesPerRow: 150)
    // What two tables share out is read twice, and both workers end together.
    let plan = plan(program(2), ["T0": all.taking(650_000), "T1": all.taking(350_000)])
    let work = plan.workOrders.map(\.work)
    let made: Int64 = 1_000_000 * (150 + 100)
    #expect(work.reduce(0, +) > made && work.reduce(0, +) <= made + 1_000_000 * 150 / 2)
    #expect(plan.partitions.map(\.bytes) == [all.bytes, all.bytes])
    #expect(work.count == 3 && abs(work[0] - work[1] - work[2]) < work[0] / 10)
  }

  @Test func `a large table is cut into shares of what is left, the last ones small`() {
    let mebibyte: Int64 = 1 << 20
    let plan = plan(
      program(1), ["T0": slices(Array(repeating: mebibyte / 10, count: 256))], workers: 2)
    #expect((6...12).contains(plan.workOrders.count))
    #expect(plan.workOrders.allSatisfy { $0.bytes <= 104 * mebibyte })
    #expect(plan.workOrders.suffix(3).allSatisfy { $0.bytes <= 25 * mebibyte })
    let small = self.plan(program(1), ["T0": slices([100, 100, 100])], workers: 8)
    #expect(small.workOrders.count == 1)
  }

  @Test(arguments: [1, 2, 3]) func `a small plan has one order for each worker`(workers: Int) {
    // No process is started for them, and none waits for another one.
    let statistics = ["T0": slices(Array(repeating: 20_000, count: 40))]
    let plan = plan(program(1), statistics, workers: workers)
    #expect(plan.workOrders.count == workers)
    let rows = plan.workOrders.map(\.rows)
    #expect((rows.max() ?? 0) - (rows.min() ?? 0) <= 2 * 20_000)
    #expect(rows.reduce(0, +) == 800_000)
  }

  @Test func `no piece is larger than asked for, as far as the slices go`() {
    let mebibyte: Int64 = 1 << 20
    let plan = plan(
      program(1), ["T0": slices(Array(repeating: mebibyte, count: 100))], workers: 1,
      orderWork: 20 * mebibyte)
    #expect(plan.workOrders.flatMap(\.pieces).allSatisfy { $0.bytes <= 30 * mebibyte })
  }

  @Test(arguments: [false, true]) func `each index that moves goes along with one piece`(
    keepsSlices: Bool
  ) {
    var statistics = slices(Array(repeating: 1 << 20, count: 8))
    statistics.movedIndexes = ["one", "two", "three"]
    let plan = plan(program(1), ["T0": statistics], workers: 2, keepsSlices: keepsSlices)
    let moved = plan.workOrders.map { $0.pieces.flatMap(\.movedIndexes) }
    #expect(moved.flatMap(\.self).sorted() == ["one", "three", "two"])
    #expect(moved.allSatisfy { $0.count < 2 })
  }

  @Test func `a work order with an index to move has fewer rows`() {
    let mebibyte: Int64 = 1 << 20
    var statistics = slices(Array(repeating: mebibyte, count: 100))
    let without = plan(program(1), ["T0": statistics], workers: 2, orderWork: 5_000 * mebibyte)
    statistics.movedIndexes = ["one"]
    let with = plan(program(1), ["T0": statistics], workers: 2, orderWork: 5_000 * mebibyte)
    let first = with.workOrders.first { !$0.pieces[0].movedIndexes.isEmpty }
    #expect((first?.rows ?? .max) < without.workOrders[0].rows)
  }

  @Test func `small tables share a work order`() {
    let names = (0..<40).map { "T\($0)" }
    let program = MigrationProgram.made(
      tables: names, references: zip(names, names.dropFirst()).map { ($0, $1) })
    let statistics = Dictionary(uniqueKeysWithValues: names.map { ($0, slices([10])) })
    #expect(plan(program, statistics).workOrders.count == 1)
  }

  @Test func `partitions that are too small for a worker are one`() {
    let (large, small) = (slices([1_000_000]), slices([100_000]))
    let plan = plan(
      program(6, references: [(0, 1)]),
      ["T0": small, "T1": slices([3]), "T2": large, "T3": slices([7]), "T4": slices([1])])
    #expect(plan.partitions.map(\.tables) == [["T2"], ["T0", "T1", "T3", "T4"]])
    #expect(plan.workOrders.map(\.partition) == [1, 2])
    #expect(plan.workOrders.map(\.rows) == [1_000_000, 100_011])
    // Five hundred tables that nothing connects have one worker, and not five hundred.
    let many = self.plan(
      program(500),
      Dictionary(uniqueKeysWithValues: (0..<500).map { ("T\($0)", slices([2])) }))
    #expect(many.workOrders.count == 1)
    #expect(many.workOrders[0].pieces.count == 500)
  }

  @Test func `next to nothing goes along with other work`() {
    let plan = plan(
      program(4, references: [(0, 1)]),
      ["T0": slices([2]), "T1": slices([3]), "T2": slices([1_000_000]), "T3": slices([7])])
    #expect(plan.partitions.map(\.tables) == [["T2", "T3", "T0", "T1"]])
    #expect(plan.workOrders.map(\.rows) == [1_000_012])
  }

  @Test func `small partitions are put together until a worker pays`() {
    let names = (0..<10).map { "T\($0)" }
    let plan = plan(
      program(10),
      Dictionary(uniqueKeysWithValues: names.map { ($0, slices([100_000])) }))
    #expect(plan.partitions.map(\.tables.count) == [5, 5])
    #expect(plan.partitions.flatMap(\.tables).sorted() == names)
  }

  @Test func `small partitions of a large store make shares that become smaller`() {
    let names = (0..<100).map { "T\($0)" }
    let plan = plan(
      program(100), Dictionary(uniqueKeysWithValues: names.map { ($0, slices([100_000])) }))
    let counts = plan.partitions.map(\.tables.count)
    #expect(counts == counts.sorted(by: >))
    #expect((5...9).contains(counts.count), "\(counts)")
    #expect(counts[0] == 40 && counts.last ?? 9 <= 4)
    #expect(plan.partitions.flatMap(\.tables).sorted() == names.sorted())
  }

  @Test func `slices that were asked for stay as they are`() {
    let plan = plan(program(1), ["T0": slices([5, 5, 5, 2])], workers: 1, keepsSlices: true)
    #expect(plan.workOrders.flatMap(\.pieces).map(\.rows).sorted() == [2, 5, 5, 5])
    #expect(plan.workOrders.count == 4)
    let many = self.plan(
      program(1), ["T0": slices(Array(repeating: 1, count: 100))], workers: 2, keepsSlices: true)
    #expect(many.workOrders.count == 8)
    #expect(many.workOrders.flatMap(\.pieces).count == 100)
  }

  @Test func `the same input makes the same plan`() {
    let statistics = ["T0": slices([5]), "T1": slices([5]), "T2": slices([5])]
    #expect(plan(program(3), statistics) == plan(program(3), statistics))
  }

  @Test func `an empty store has an empty plan`() {
    #expect(plan(program(3), [:]).workOrders.isEmpty)
    #expect(plan(program(1), ["T0": TableStatistics(slices: [])]).partitions.isEmpty)
  }
}
