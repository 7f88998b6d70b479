import Testing

@testable import Planning

@Suite struct WorkerMessageTests {
  @Test func `messages cross as lines with a mark, and other lines are none`() throws {
    var progress = WorkProgress()
    (progress.rows, progress.table, progress.lastKey) = (7, "Z\n\"É", .min)
    for message in [
      .progress(progress), .claim, .failed(status: 65, facts: "{\"a\":1}", text: "two\nlines"),
      .started(WorkerProgram(commit: nil, bytes: 5, host: "n1")),
    ] as [WorkerMessage] {
      let line = try MessageLine.encoded(message)
      #expect(line.count { $0 == UInt8(ascii: "\n") } == 1)
      #expect(MessageLine.decoded(line.dropLast(), as: WorkerMessage.self) == message)
      #expect(MessageLine.decoded(line.dropFirst().dropLast(), as: WorkerMessage.self) == nil)
      #expect(MessageLine.decoded(line.dropLast(3), as: WorkerMessage.self) == nil)
    }
    #expect(MessageLine.decoded(Array("srun: job 5".utf8), as: WorkerMessage.self) == nil)
  }

  @Test(arguments: [1, 2, 3, 100]) func `bytes in any portions give the same lines`(
    portion: Int
  ) {
    let bytes = Array("one\r\n\ntwo\nthree, and more\nrest".utf8)
    var (buffer, lines) = (LineBuffer(), [] as [String])
    for start in stride(from: 0, to: bytes.count, by: portion) {
      buffer.append(bytes[start..<min(bytes.count, start + portion)])
      while let line = buffer.next() { lines.append(String(decoding: line, as: UTF8.self)) }
    }
    #expect(lines == ["one", "", "two", "three, and more"])
  }

  @Test func `another build is another program, on whatever machine`() {
    let own = WorkerProgram(commit: "abc", bytes: 10, host: "n1")
    var other = WorkerProgram(commit: "abc", bytes: 10, host: "n2")
    #expect(own.isSame(as: other))
    other.bytes = 11
    #expect(!own.isSame(as: other))
    (other.bytes, other.version) = (10, "0.0.1")
    #expect(!own.isSame(as: other))
  }
}
