import MigrationWorker
import Planning
import SystemCalls
import SystemPackage
import Testing

@Suite struct ProcessLinkTests {
  /// A link and the coordinator's ends of its pipes.
  private struct Given {
    let link: ProcessLink
    let orders: FileDescriptor
    let answers: FileDescriptor

    init(parent: Int32? = nil) throws {
      let (input, output) = (try FileDescriptor.pipe(), try FileDescriptor.pipe())
      link = ProcessLink(
        input: input.readEnd, output: output.writeEnd, parent: parent, patience: 0.05)
      (orders, answers) = (input.writeEnd, output.readEnd)
    }

    func say(_ message: CoordinatorMessage) throws {
      try orders.writeAll(try MessageLine.encoded(message))
    }

    /// The next messages of the worker.
    func heard(_ count: Int) throws -> [WorkerMessage] {
      var (lines, messages) = (LineBuffer(), [] as [WorkerMessage])
      while messages.count < count {
        var bytes = [UInt8](repeating: 0, count: 1)
        guard try bytes.withUnsafeMutableBytes({ try answers.read(into: $0) }) == 1 else { break }
        lines.append(bytes)
        if let line = lines.next() {
          messages.append(try #require(MessageLine.decoded(line, as: WorkerMessage.self)))
        }
      }
      return messages
    }
  }

  private let program = WorkerProgram(commit: nil, bytes: 1, host: "n1")

  @Test func `an input that ends has no order`() throws {
    let given = try Given()
    try given.orders.writeAll(Array("{\"half".utf8))
    try given.orders.close()
    #expect(try given.link.readOrder() == nil)
  }

  @Test func `a worker begins once it has a pace, and gets the extents that it asks for`() throws {
    let given = try Given()
    try given.say(.pace(WorkPace(isHeld: true, rate: 5)))
    try given.say(.extent(41))
    try given.say(.extent(42))
    #expect(try given.link.begin(program))
    #expect(given.link.pace == WorkPace(isHeld: true, rate: 5))
    #expect(try given.link.claimExtent() == 41)
    #expect(try given.link.claimExtent() == 42)
    given.link.report(WorkProgress())
    #expect(
      try given.heard(4) == [.started(program), .claim, .claim, .progress(WorkProgress())])
  }

  @Test func `a worker that a launcher has started begins only if an answer comes in time`()
    throws
  {
    let given = try Given()
    #expect(try !given.link.begin(program))
  }

  @Test func `a worker waits for the coordinator that has started it, however busy that is`()
    async throws
  {
    let given = try Given(parent: Processes.own)
    async let later: Void = {
      try await Task.sleep(for: .milliseconds(300))
      try given.say(.pace(WorkPace()))
    }()
    #expect(try given.link.begin(program))
    try await later
  }

  @Test func `a process that waits for its coordinator ends with its input`() async throws {
    await #expect(processExitsWith: .exitCode(75)) {
      let input = try FileDescriptor.pipe()
      let link = ProcessLink(
        input: input.readEnd, output: try Files.open("/dev/null", mode: .writeOnly), parent: nil)
      try input.writeEnd.writeAll(try MessageLine.encoded(CoordinatorMessage.pace(WorkPace())))
      _ = try link.begin(WorkerProgram(commit: nil, bytes: 1, host: "n1"))
      try input.writeEnd.close()
      _ = try link.claimExtent()
    }
  }
}
