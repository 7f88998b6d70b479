import Foundation
import SystemPackage
import Testing

@testable import SystemCalls

@Suite struct ProcessesTests {
  @Test func `this process is alive, and no other start of its number`() throws {
    let start = try #require(Processes.startTime(of: Processes.own))
    #expect(Processes.isAlive(Processes.own, startTime: start))
    #expect(!Processes.isAlive(Processes.own, startTime: start + 1))
    #expect(Processes.startTime(of: 0) == nil)
    #expect(Processes.startTime(of: .max) == nil)
  }

  @Test func `a killed process is not alive, even before its parent looks`() throws {
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sleep")
    child.arguments = ["60"]
    try child.run()
    let start = try #require(Processes.startTime(of: child.processIdentifier))
    #expect(Processes.isAlive(child.processIdentifier, startTime: start))
    kill(child.processIdentifier, SIGKILL)
    child.waitUntilExit()
    #expect(!Processes.isAlive(child.processIdentifier, startTime: start))
  }

  @Test func `the start of the machine has 16 bytes and stays`() throws {
    let id = try #require(Processes.bootID)
    #expect(id.count == 16)
    #expect(Processes.bootID == id)
  }

  @Test func `a process that has a file open is no writer of another one of its name`() throws {
    let folder = try TemporaryFolder()
    let (path, other) = (folder.path.appending("file"), folder.path.appending("other"))
    for file in [path, other] { try Files.writeFileAtomically([1], to: file, syncs: false) }
    let (first, second) = try (Files.fileStatus(path), Files.fileStatus(other))
    let (input, output) = try FileDescriptor.pipe()
    defer { try? input.close() }
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sh")
    child.arguments = ["-c", "exec 3<>\"$0\" 4<>\"$0\"; echo; exec sleep 60", path.string]
    child.standardOutput = FileHandle(fileDescriptor: output.rawValue, closeOnDealloc: true)
    try child.run()
    defer {
      kill(child.processIdentifier, SIGKILL)
      child.waitUntilExit()
    }
    var line: [UInt8] = [0]
    _ = try line.withUnsafeMutableBytes { try input.read(into: $0) }
    #expect(Processes.writers(of: path, being: first) == [child.processIdentifier])
    #expect(Processes.writers(of: path, being: second).isEmpty)
    try Files.rename(other, to: path)
    let deleted = FilePath("\(path) (deleted)")
    #expect(Processes.writers(of: deleted, being: first) == [child.processIdentifier])
    #expect(Processes.writers(of: deleted, being: second).isEmpty)
  }

  @Test func `memory for large buffers begins where a large page does`() {
    let memory = UnsafeMutableRawPointer.allocateLarge(byteCount: 5 << 20)
    defer { memory.deallocate() }
    #expect(UInt(bitPattern: memory) % (2 << 20) == 0)
    memory.initializeMemory(as: UInt8.self, repeating: 7, count: 5 << 20)
  }

  @Test func `memory is counted without code and mapped files`() throws {
    let status = """
      Name:\tgodwit
      VmHWM:\t  900 kB
      VmRSS:\t  800 kB
      RssAnon:\t  100 kB
      RssFile:\t  690 kB
      RssShmem:\t   10 kB
      VmSwap:\t    5 kB
      """
    let use = try #require(MemoryUse(parsing: Array(status.utf8)))
    #expect(use.occupied == 115 * 1024)
    #expect(use.residentPeak == 900 * 1024)
    #expect(MemoryUse(parsing: Array("Name:\tgodwit".utf8)) == nil)
    let most = Array("RssAnon:\t18446744073709551615 kB".utf8)
    #expect(MemoryUse(parsing: most)?.occupied == .max)
  }

  @Test func `a peak stays when memory is given back`() {
    let peak = PeakMemory()
    let before = peak.sample()
    #expect(before > 0)
    #expect(peak.sample() >= before)
  }

  @Test func `a process whose parent is another learns that it is gone`() async {
    await #expect(processExitsWith: .success) {
      let error = #expect(throws: SystemCallError.self) { try Processes.dieWithParent(1) }
      try Processes.dieWithParent(getppid())
      exit(error?.errno == .noSuchProcess ? 0 : 1)
    }
  }

  @Test func `a write to a closed pipe is an error, not the end`() async {
    await #expect(processExitsWith: .success) {
      try Processes.ignoreBrokenPipes()
      let pipe = try FileDescriptor.pipe()
      try pipe.readEnd.close()
      #expect(throws: Errno.brokenPipe) { try pipe.writeEnd.writeAll([1]) }
      exit(0)
    }
  }

  @Test func `descriptors may be raised, and a file is no terminal`() throws {
    #expect(try Processes.raiseDescriptorLimit() >= 256)
    let file = try Files.open("/dev/null", mode: .writeOnly)
    try file.closeAfter { #expect(Processes.terminalSize(of: file) == nil) }
  }

  @Test func `stop signals arrive instead of ending the process`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let signals = Processes.whenAskedToStop { exit(7) }
      try await Task.sleep(for: .milliseconds(100))  // the sources take effect on a queue
      kill(getpid(), SIGTERM)
      try await Task.sleep(for: .seconds(60))
      signals.forget()
    }
  }

  @Test func `a pipe that nobody reads any more is noticed without a write`() throws {
    let (input, output) = try FileDescriptor.pipe()
    #expect(Processes.isOpen(output))
    try input.close()
    #expect(!Processes.isOpen(output))
    try output.close()
    let path = FilePath("/dev/null")
    let file = try FileDescriptor.open(path, .writeOnly)
    #expect(Processes.isOpen(file))
    try file.close()
  }
}
