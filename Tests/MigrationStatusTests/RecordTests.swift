import SystemCalls
import TestSupport
import Testing

@testable import MigrationStatus

@Suite struct RecordTests {
  @Test func `a rate is told as people type it`() {
    let rates: [UInt64] = [0, 1, 1536, 30 << 20, 1500 << 10, 2 << 30, .max]
    #expect(
      rates.map { ControlRecord.text(rate: $0) }
        == ["0", "1", "1536", "30M", "1500K", "2G", "18446744073709551615"])
  }

  private func sampleRun() throws -> RunRecord {
    var run = RunRecord(
      run: try #require(Identifier("00112233-4455-4677-8899-AABBCCDDEEFF")),
      boot: try #require(Identifier((0x10..<0x20).map { $0 as UInt8 })),
      coordinator: 4711, coordinatorStart: 987_654_321, at: 1_000_000_001)
    run.enter(.indexing, units: 12, at: 7)
    run.unitsDone = 5
    run.fail("disk full: größer", at: 2_000_000_002)
    run.workersWanted = 16
    run.workOrders = 32
    run.droppedUpdates = 3
    run.heartbeatAt = 3_000_000_003
    run.progressAt = 2_500_000_004
    (run.rowsTotal, run.rowsDone) = (1000, 900)
    (run.bytesTotal, run.bytesDone, run.bytesFound) = (1 << 40, 1 << 39, 77)
    run.peakMemory = 123_456_789
    (run.memoryLimit, run.diskNeed) = (256 << 20, 3 << 30)
    run.fraction = 0.75
    (run.workerRate, run.rate) = (1 << 20, 1 << 21)
    (run.controlNumber, run.controlAt) = (9, 1_700_000_000_000_000_000)
    return run
  }

  private var samplePart: OrderRecord {
    var part = OrderRecord(workOrder: 258, partition: 3, rowsTotal: 500, bytesTotal: 1 << 33)
    part.state = .running
    part.attempt = 4
    (part.process, part.processStart) = (4712, 987_654_322)
    (part.rowsDone, part.bytesDone, part.bytesHighest) = (400, 1 << 32, (1 << 32) + 5)
    part.lastKey = -9
    (part.startedAt, part.heartbeatAt, part.progressAt) = (11, 12, 13)
    (part.peakMemory, part.memoryLimit) = (1 << 28, 85 << 20)
    (part.exitCode, part.exitSignal, part.droppedUpdates) = (75, -1, 6)
    part.isPaused = true
    part.table = "ZNOTE"
    part.error = "½ lost"
    return part
  }

  @Test func `a run is the bytes of the document, and back`() throws {
    let run = try sampleRun()
    #expect(run.encoded() == encodedRun)
    #expect(try RunRecord(decoding: encodedRun) == run)
  }

  @Test func `a run that is held is the bytes of the document, and back`() throws {
    let run = try RunRecord(decoding: encodedHeldRun)
    #expect(run.encoded() == encodedHeldRun)
    #expect(run.hold == .asked && run.isStanding && run.phase == .migrating)
    #expect(run.holdReason == "größer (process 7)" && run.error.isEmpty)
    #expect(run.fraction == 0.75 && run.secondsRemaining == 12.5)
  }

  @Test func `a request is the bytes of the document, and back`() throws {
    var control = ControlRecord(
      run: try #require(Identifier("00112233-4455-4677-8899-AABBCCDDEEFF")), workers: 3,
      rate: 50 << 20)
    (control.number, control.wish, control.process) = (7, .pause, 4713)
    (control.user, control.askedAt) = ("jürgen", 1_700_000_000_000_000_000)
    #expect(control.encoded() == encodedControl)
    #expect(try ControlRecord(decoding: encodedControl) == control)
    for index in 4..<ControlRecord.size {
      var bytes = encodedControl
      bytes[index] ^= 1 << UInt8(index % 8)
      #expect(throws: RecordError.damaged, "byte \(index)") {
        try ControlRecord(decoding: bytes)
      }
    }
  }

  @Test func `a part is the bytes of the document, and back`() throws {
    #expect(samplePart.encoded() == encodedPart)
    #expect(try OrderRecord(decoding: encodedPart) == samplePart)
    #expect(OrderRecord.key(workOrder: 258) == [0, 0, 1, 2])
  }

  @Test(arguments: [0, 1, UInt64(Int64.max), .max])
  func `extreme numbers survive`(number: UInt64) throws {
    var part = samplePart
    (part.rowsTotal, part.bytesDone, part.processStart) = (number, number, number)
    part.lastKey = Int64(truncatingIfNeeded: number)
    #expect(try OrderRecord(decoding: part.encoded()) == part)
  }

  @Test func `a text is cut between characters`() throws {
    var part = samplePart
    part.table = String(repeating: "x", count: 47) + "é"
    #expect(try OrderRecord(decoding: part.encoded()).table == String(repeating: "x", count: 47))
    part.table = "x" + String(repeating: "👩‍👩‍👧", count: 4)
    #expect(try OrderRecord(decoding: part.encoded()).table == "x👩‍👩‍👧👩‍👩‍👧")
    part.table = "a\0b"
    #expect(try OrderRecord(decoding: part.encoded()).table == "a\u{FFFD}b")
  }

  @Test func `other versions, sizes and states are refused`() throws {
    var bytes = encodedRun
    bytes[0] = 1
    #expect(throws: RecordError.unsupportedVersion(1)) { try RunRecord(decoding: bytes) }
    for bytes in [[], [3], [3, 0, 0, 0], encodedRun + [0], Array(encodedRun.dropLast())]
      as [[UInt8]]
    {
      #expect(throws: RecordError.damaged) { try RunRecord(decoding: bytes) }
      #expect(throws: RecordError.damaged) { try OrderRecord(decoding: bytes) }
    }
    for (offset, value) in [(4, 12), (4, 5), (156, 0), (156, 10), (460, 4)] as [(Int, UInt8)] {
      var bytes = encodedRun
      bytes[offset] = value
      #expect(throws: RecordError.damaged, "byte \(offset)") {
        try RunRecord(decoding: sealed(bytes))
      }
    }
    bytes = encodedPart
    bytes[12] = 0
    #expect(throws: RecordError.damaged) { try OrderRecord(decoding: sealed(bytes)) }
  }

  @Test func `a record in which any bit is another one is refused`() {
    for index in 4..<RunRecord.size {
      var bytes = encodedRun
      bytes[index] ^= 1 << UInt8(index % 8)
      #expect(throws: RecordError.damaged, "byte \(index)") { try RunRecord(decoding: bytes) }
    }
    for index in 4..<OrderRecord.size {
      var bytes = encodedPart
      bytes[index] ^= 1 << UInt8(index % 8)
      #expect(throws: RecordError.damaged, "byte \(index)") { try OrderRecord(decoding: bytes) }
    }
  }

  /// The bytes with the checksum that belongs to them.
  private func sealed(_ bytes: [UInt8]) -> [UInt8] {
    let offset = bytes.count == RunRecord.size ? 456 : 124
    var writer = RecordWriter(size: bytes.count)
    writer.put(bytes, at: 0)
    return writer.sealed(at: offset)
  }

  @Test func `random bytes never trap`() {
    var random = SeededRandom(seed: 11)
    var (read, refused) = (0, 0)
    for seed in 0..<2000 {
      var bytes = seed % 2 == 0 ? encodedRun : encodedPart
      for _ in 0...seed % 7 {
        bytes[Int.random(in: bytes.indices, using: &random)] = .random(
          in: 0 ... .max, using: &random)
      }
      bytes = sealed(bytes)
      do throws(RecordError) {
        if seed % 2 == 0 {
          let run = try RunRecord(decoding: bytes)
          let snapshot = StatusSnapshot(
            contents: StatusContents(run: run, parts: []), surroundings: .fixed(at: 0))
          #expect((0...1).contains(snapshot.fraction))
        } else {
          _ = try OrderRecord(decoding: bytes).bytesCounted
        }
        read += 1
      } catch {
        refused += 1
      }
    }
    #expect(read > 500 && refused > 10, "\(read) read, \(refused) refused")
  }

  @Test func `an identifier is a UUID`() throws {
    let identifier = Identifier.random()
    #expect(Identifier(identifier.description) == identifier)
    #expect(Identifier(identifier.bytes) == identifier)
    #expect(identifier != .random())
    #expect(Identifier("00112233-4455-4677-8899-AABBCCDDEEF") == nil)
    #expect(Identifier([1]) == nil)
  }
}

extension Surroundings {
  /// A world without processes.
  static func fixed(at time: Int64, alive: Bool = false, boot: Identifier? = nil) -> Surroundings {
    fixed(at: time, alive ? .running : .gone, boot: boot)
  }

  static func fixed(
    at time: Int64, _ presence: Processes.Presence, boot: Identifier? = nil
  ) -> Surroundings {
    Surroundings(time: time, boot: boot, presence: { _, _ in presence })
  }
}
