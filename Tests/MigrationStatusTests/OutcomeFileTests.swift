import Foundation
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationStatus

@Suite(.scratchFolder) struct OutcomeFileTests {
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("Shop.sqlite") }
  private var file: OutcomeFile { OutcomeFile(beside: store) }
  private var names: [String] { get throws { try Files.listDirectory(folder).map(\.string) } }

  private func record(_ run: Identifier = .random()) -> OutcomeRecord {
    OutcomeRecord(run: run, source: store, destination: store, work: folder.appending("work"))
  }

  @Test func `a record is read as it was written, and replaced by the next`() throws {
    #expect(try file.read() == nil)
    try file.write(record(), mode: .ownerReadWrite)
    var second = record()
    second.end(
      exitStatus: 78, sentences: (0..<300).map { "reason \($0)" }, losses: ["a\u{1B}[2J\n"])
    second.rows = 7
    try file.write(second, mode: [.ownerReadWrite, .groupRead])
    #expect(try file.read() == second)
    #expect(second.state == .refused && second.sentences.count == 101)
    #expect(try names == ["Shop.sqlite.godwit-status.json"])
    #expect(try Files.fileStatus(file.path).mode == 0o640)
  }

  @Test(arguments: [
    "", "{}", "my own notes", #"{"format":"godwit-status"}"#,
    #"{"format":"other","version":1}"#,
  ])
  func `a file that is no record is never written over`(text: String) throws {
    let bytes = Array(text.utf8)
    try Files.writeFileAtomically(bytes, to: file.path)
    #expect(throws: (any Error).self) { try file.read() }
    #expect(throws: (any Error).self) { try file.write(record(), mode: .ownerReadWrite) }
    #expect(try Files.readFile(file.path, limit: 1 << 20) == bytes)
    #expect(try names.count == 1)
  }

  @Test func `a record of a later version is none that is known, and stays`() throws {
    var text = String(decoding: try record().encoded(), as: UTF8.self)
    text = text.replacing("\"version\" : 1", with: "\"version\" : 2")
    try Files.writeFileAtomically(Array(text.utf8), to: file.path)
    #expect(throws: RecordError.self) { try file.read() }
    #expect(throws: RecordError.self) { try file.write(record(), mode: .ownerReadWrite) }
  }

  @Test func `no link is followed, and neither a folder nor a pipe is touched`() throws {
    let other = folder.appending("other.json")
    try OutcomeFile(other).write(record(), mode: .ownerReadWrite)
    let bytes = try Files.readFile(other, limit: 1 << 20)
    for make in [
      { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: other.string) },
      { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "/nowhere") },
      { try FileManager.default.createDirectory(atPath: $0, withIntermediateDirectories: false) },
      { try #require(mkfifo($0, 0o644) == 0) },
    ] as [(String) throws -> Void] {
      try make(file.path.string)
      #expect(throws: (any Error).self) { try file.read() }
      #expect(throws: (any Error).self) { try file.write(record(), mode: .ownerReadWrite) }
      try FileManager.default.removeItem(atPath: file.path.string)
    }
    #expect(try Files.readFile(other, limit: 1 << 20) == bytes)
    #expect(try names == ["other.json"])
  }

  @Test func `a file too long for a record is not read`() throws {
    try Files.writeFileAtomically([UInt8](repeating: 32, count: 2 << 20), to: file.path)
    #expect(throws: (any Error).self) { try file.read() }
  }

  @Test func `a run that may still be at work is known by its process`() {
    var record = record()
    #expect(record.isOfLivingProcess)
    record.processStart += 1
    #expect(!record.isOfLivingProcess)
    var ended = self.record()
    ended.end(exitStatus: 0, sentences: [])
    #expect(!ended.isOfLivingProcess)
  }
}

/// Where `status` looks.
@Suite(.scratchFolder) struct StatusPlacesTests {
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("Shop.sqlite") }
  private var work: FilePath { folder.appending("Shop.sqlite.godwit") }

  private func tell(_ run: Identifier, in work: FilePath, at start: Int64 = 5) throws {
    try Files.createDirectory(work)
    let file = try StatusFile.create(work.appending("status.mdb"))
    file.write(
      run: RunRecord(
        run: run, boot: .none, coordinator: Processes.own,
        coordinatorStart: Processes.startTime(of: Processes.own) ?? 0, at: start))
  }

  private func found(_ path: FilePath) throws -> (run: Identifier?, record: Identifier?) {
    let found = try StatusPlaces(path).find(open: nil)
    return (try found.reader?.read().run.run, found.record?.run)
  }

  @Test func `a run is found by its store, its folder, its file, and by links to them`() throws {
    let run = Identifier.random()
    try tell(run, in: work)
    try Files.writeFileAtomically([1], to: store)
    let links = folder.appending("links")
    try Files.createDirectory(links)
    var paths = [store, work, work.appending("status.mdb")]
    for (number, path) in [store, work].enumerated() {
      let link = links.appending("\(number)")
      try FileManager.default.createSymbolicLink(
        atPath: link.string, withDestinationPath: path.string)
      paths.append(link)
    }
    for path in paths { #expect(try found(path).run == run, "\(path)") }
    #expect(try found(links.appending("other")).run == nil)
  }

  @Test func `a run in a folder of its own is found by the folder that holds it`() throws {
    let (first, second) = (Identifier.random(), Identifier.random())
    let holder = folder.appending("work")
    try Files.createDirectory(holder)
    try tell(first, in: holder.appending("Shop.sqlite.godwit-1"), at: 5)
    try tell(second, in: holder.appending("Shop.sqlite.godwit-2"), at: 6)
    #expect(try found(holder).run == second)
  }

  @Test func `a record leads to a work folder elsewhere, if the run there is its own`() throws {
    let run = Identifier.random()
    let elsewhere = folder.appending("elsewhere")
    try tell(run, in: elsewhere)
    var record = OutcomeRecord(run: run, source: store, destination: store, work: elsewhere)
    try OutcomeFile(beside: store).write(record, mode: .ownerReadWrite)
    #expect(try found(store) == (run, run))
    // Of another run, the folder is none of the record's.
    record.run = .random()
    try OutcomeFile(beside: store).write(record, mode: .ownerReadWrite)
    #expect(try found(store) == (nil, record.run))
  }

  @Test(arguments: ["relative", "", "/nul\0", "/dev/null", "/proc/self/mem"])
  func `what a record names is not trusted`(work: String) throws {
    let record = OutcomeRecord(
      run: .random(), source: store, destination: store, work: FilePath("/x"))
    var text = String(decoding: try record.encoded(), as: UTF8.self)
    text = text.replacing("\"/x\"", with: work.contains("\0") ? #""/nul\u0000""# : "\"\(work)\"")
    try Files.writeFileAtomically(Array(text.utf8), to: OutcomeFile(beside: store).path)
    #expect(try found(store) == (nil, record.run))
  }

  @Test func `a status file that is a link is not opened`() throws {
    let elsewhere = folder.appending("elsewhere")
    try tell(.random(), in: elsewhere)
    try Files.createDirectory(work)
    try FileManager.default.createSymbolicLink(
      atPath: work.appending("status.mdb").string,
      withDestinationPath: elsewhere.appending("status.mdb").string)
    #expect(try found(store) == (nil, nil))
  }

  @Test func `the record of a run whose folder is gone is found by the folder's name`() throws {
    let record = OutcomeRecord(run: .random(), source: store, destination: store, work: work)
    try OutcomeFile(beside: store).write(record, mode: .ownerReadWrite)
    for path in [store, work, OutcomeFile(beside: store).path] {
      #expect(try found(path).record == record.run, "\(path)")
    }
  }

  @Test func `a run that removes its file while it is watched is known by its last word`() throws {
    try Files.createDirectory(work)
    let path = work.appending("status.mdb")
    let watch = StatusWatch(store)
    #expect(try watch.look() == nil)
    try tell(.random(), in: work)
    #expect(try watch.look()?.snapshot?.phase == .surveying)
    // Nobody but this process has it open, so the change is made as another process would: before.
    try StatusFile.remove(path)
    let last = try watch.look()
    #expect(last?.snapshot?.phase == .surveying)
    #expect(try watch.look() == nil)
  }
}
