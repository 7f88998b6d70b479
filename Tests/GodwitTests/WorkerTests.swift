import Foundation
import Godwit
import Testing

@Suite struct WorkerTests {
  /// What a program says that migrates and never calls `GodwitWorker.runIfRequested()`.
  private func forgetful(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = GivenStore.products.appending(path: "ForgetfulTool")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: said, as: UTF8.self)
  }

  @Test func `a program that is not its own worker is told so before it runs twice`() throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let before = try given.names
    let said = try forgetful([given.store.path, given.model.path])
    #expect(said.components(separatedBy: "main runs").count == 2)
    #expect(said.contains("never calls GodwitWorker.runIfRequested()"))
    #expect(try given.names == before)
  }

  @Test func `a worker whose program does something else is told so`() throws {
    let said = try forgetful(["godwit-worker", "1"])
    #expect(said.contains("was started as a worker of process 1"))
  }

  @Test func `this process is no worker executable either`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    migration.resources.executable = nil
    let failure = try await given.failure(of: migration)
    #expect(failure.kind == .workerForgotten && failure.exitStatus == .usage)
  }
}
