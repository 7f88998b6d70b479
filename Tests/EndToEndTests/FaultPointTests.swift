import Planning
import Subprocess
import Testing

@Suite(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
struct FaultPointTests {
  @Test func `the tool lists every point at which a test may kill it`() async throws {
    let listed = try await BuiltTool.run(
      ["--version"], environment: ["GODWIT_FAULTS": "list"])
    #expect(listed.status == 0)
    let names = listed.standardOutput.split(separator: "\n").map(String.init)
    #expect(names == FaultPoint.allCases.map(\.rawValue))
  }

  @Test func `a point that does not exist is refused, or a test of it would test nothing`()
    async throws
  {
    let refused = try await BuiltTool.run(
      ["--version"], environment: ["GODWIT_FAULT": "coordinator:nowhere"])
    #expect(refused.status == 64)
    #expect(refused.standardError == "no fault point coordinator:nowhere\n")
  }
}
