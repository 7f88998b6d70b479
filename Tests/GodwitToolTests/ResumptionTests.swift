import Testing

@testable import GodwitTool

@Suite struct ResumptionTests {
  @Test func `the command that resumes does not remove what is resumed`() {
    #expect(
      GodwitTool.resumption(of: ["/bin/godwit", "migrate", "A.sqlite", "--restart", "--to", "B"])
        == ["godwit", "migrate", "A.sqlite", "--to", "B"])
    #expect(
      GodwitTool.resumption(of: ["godwit", "migrate", "--restart", "--to", "B", "--", "--restart"])
        == ["godwit", "migrate", "--to", "B", "--", "--restart"])
  }

  @Test func `the command that resumes is that of the executable with the policies`() {
    #expect(
      GodwitTool.resumption(of: ["./ShopTool", "migrate", "A.sqlite", "--to", "B"])
        == ["./ShopTool", "migrate", "A.sqlite", "--to", "B"])
    #expect(GodwitTool.resumption(of: []) == ["godwit"])
  }
}
