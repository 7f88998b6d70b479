import SystemCalls
import SystemPackage
import Testing

@testable import Fleets

@Suite struct FleetFilesTests {
  private let temporary: TemporaryFolder
  private let folder: FleetFolder

  init() throws {
    temporary = try TemporaryFolder()
    folder = FleetFolder(temporary.path.appending("Autumn"))
  }

  private func result(
    _ number: Int, _ outcome: StoreResult.Outcome, at time: Double
  ) -> StoreResult {
    var result = StoreResult(number: number, store: "\(number)", outcome: outcome, bytes: 100)
    result.time = time
    if outcome == .failed { (result.reason, result.exitStatus) = ("inUse", 69) }
    return result
  }

  private func makeFleet(stores: Int) throws -> FleetManifest {
    let spool = try StoreSpool()
    for number in 0..<stores {
      try spool.add(FleetStore(store: "/\(number)", bytes: Int64(number)), identity: nil)
    }
    return try folder.create(spool, settings: FleetSettings(), at: 1000)
  }

  @Test func `a summary has the first reason that a sentence announces`() {
    var one = result(1, .failed, at: 1)
    #expect(one.summary.isEmpty)
    one.sentences = ["It is in use.", "Close it."]
    #expect(one.summary == "It is in use.")
    one.sentences = ["It cannot be migrated for 2 reasons:", "It is red.", "It is round."]
    #expect(one.summary == "It cannot be migrated for 2 reasons: It is red.")
    one.sentences.removeLast(2)
    #expect(one.summary == one.sentences[0])
  }

  @Test func `the largest store of the list comes first`() throws {
    let made = try makeFleet(stores: 3)
    #expect(made == (try folder.readManifest()))
    var list = try FleetListReader(folder)
    var paths: [String] = []
    while let next = try list.next() { paths.append("\(next.number) \(next.store.store)") }
    #expect(paths == ["0 /2", "1 /1", "2 /0"])
  }

  @Test func `a store that is added again is left out, by its path or its file`() throws {
    let spool = try StoreSpool()
    let file = try Files.fileStatus(temporary.path).identity
    let long = "/" + String(repeating: "a", count: 2000)
    for path in ["/a", "/b", "/a", long, long, long + "b"] {
      try spool.add(FleetStore(store: path, bytes: 1), identity: nil)
    }
    try spool.add(FleetStore(store: "/c", bytes: 3), identity: file)
    try spool.add(FleetStore(store: "/d", bytes: 2), identity: file)
    try spool.flush()
    #expect(spool.count == 5)
    #expect(spool.repeated == 3)
    _ = try folder.create(spool, settings: FleetSettings(), at: 1000)
    var list = try FleetListReader(folder)
    #expect(try list.store(0)?.store == "/c")
    #expect(try list.store(2)?.store == long)
    #expect(try list.store(9) == nil)
  }

  @Test func `two stores with one output are found`() throws {
    let spool = try StoreSpool()
    for (path, output) in [("/a", "/x"), ("/b", "/y"), ("/c", "/x")] {
      try spool.add(FleetStore(store: path, output: output, bytes: 1), identity: nil)
    }
    try spool.flush()
    #expect(spool.clash == .init(store: "/c", other: "/a", output: "/x"))
  }

  @Test func `the result of one store is found in the state`() throws {
    let manifest = try makeFleet(stores: 5000)
    let state = try FleetState(folder, of: manifest)
    let run = FleetRun(fleet: manifest.created, started: 1, jobs: 1)
    try state.write(
      (0..<5000).filter { $0 % 3 == 0 }.map { result($0, .migrated, at: Double($0)) }, run: run,
      syncs: false)
    #expect(try FleetState.result(of: 4998, in: folder)?.number == 4998)
    #expect(try FleetState.result(of: 4999, in: folder) == nil)
    #expect(try FleetState.result(of: 1, in: folder) == nil)
    #expect(try FleetLedger(folder, of: manifest).tally.done == 1667)
  }

  @Test func `each store is one of exactly one element`() throws {
    _ = try makeFleet(stores: 50)
    var numbers: [Int] = []
    for number in 0..<7 {
      var list = try FleetListReader(folder, element: FleetElement(number: number, count: 7))
      while let next = try list.next() { numbers.append(next.number) }
    }
    #expect(numbers.sorted() == Array(0..<50))
  }

  @Test func `a fleet is not created twice`() throws {
    _ = try makeFleet(stores: 1)
    #expect(throws: FleetError(problem: .exists, path: folder.path)) { try makeFleet(stores: 1) }
  }

  @Test func `a manifest that was changed is not believed`() throws {
    _ = try makeFleet(stores: 1)
    var bytes = try Files.readFile(folder.manifest, limit: 1 << 20)
    bytes[bytes.count - 3] ^= 1
    try Files.writeFileAtomically(bytes, to: folder.manifest)
    #expect(throws: FleetError.self) { try folder.readManifest() }
  }

  @Test(arguments: 0..<60)
  func `a results file that was cut anywhere keeps the lines before`(cut: Int) throws {
    let manifest = try makeFleet(stores: 3)
    let element = try #require(FleetElement(number: 0, count: 1))
    let file = try ResultsFile(of: element, in: folder, at: 5)
    for number in 0..<3 { try file.add(result(number, .migrated, at: Double(number))) }
    try file.flush()
    let bytes = try Files.readFile(file.path, limit: 1 << 20)
    let left = bytes.count - cut * bytes.count / 60
    try Files.writeFileAtomically(bytes.prefix(left), to: file.path)
    let whole = bytes.prefix(left).count { $0 == UInt8(ascii: "\n") }
    let ledger = try FleetLedger(folder, of: manifest)
    #expect(ledger.tally.done >= whole)
    #expect(ledger.tally.done <= whole + 1)
    #expect(ledger.tally.stores + ledger.damagedLines <= 3)
  }

  @Test func `the last result of a store counts, of all files`() throws {
    let manifest = try makeFleet(stores: 3)
    let element = try #require(FleetElement(number: 0, count: 1))
    let first = try ResultsFile(of: element, in: folder, at: 5)
    try first.add(result(0, .failed, at: 1))
    try first.add(result(1, .migrated, at: 2))
    try first.flush()
    let second = try ResultsFile(of: element, in: folder, at: 6)
    try second.add(result(0, .migrated, at: 3))
    try second.add(result(1, .current, at: 4))
    try second.flush()
    let ledger = try FleetLedger(folder, of: manifest)
    #expect(ledger.tally.count(.migrated) == 2)
    #expect(ledger.tally.stores == 2)
    #expect(ledger.tally.exitStatus == 0)
    #expect(!ledger.hasResult(2))
    let past = try FleetPast(element, in: folder, stores: 3)
    #expect(past.isDone(0) && past.isDone(1) && !past.isDone(2))
    #expect(past.open.isEmpty)
  }

  @Test func `the state keeps results, and is not believed after the machine stopped`() throws {
    let manifest = try makeFleet(stores: 2)
    do {
      let state = try FleetState(folder, of: manifest)
      var run = FleetRun(fleet: manifest.created, started: 1, jobs: 1)
      run.tally.add(result(0, .failed, at: 1))
      try state.write([result(0, .failed, at: 1)], run: run, syncs: true)
      #expect(try FleetPast(state, stores: 2).open[0]?.reason == "inUse")
    }
    #expect(try FleetLedger(folder, of: manifest).tally.exitStatus == 69)
    do {
      let state = try FleetState(folder, of: manifest)
      var run = FleetRun(fleet: manifest.created, started: 1, jobs: 1)
      run.boot = [1, 2, 3]
      try state.write([], run: run, syncs: true)
    }
    let state = try FleetState(folder, of: manifest)
    #expect(try FleetPast(state, stores: 2).open.isEmpty)
  }

  @Test func `settings of a store replace those of the fleet`() throws {
    var all = FleetSettings()
    all.to = ["/Shop.momd"]
    all.verify = "full"
    var own = FleetSettings()
    own.verify = "quick"
    own.progressive = true
    let merged = try all.overridden(by: own)
    #expect(merged.to == ["/Shop.momd"])
    #expect(merged.verify == "quick")
    #expect(merged.progressive == true)
  }
}
