import Testing

@testable import GodwitTool

struct ReadingBarTests {
  @Test func `what is read, how long, and how much of a table`() {
    let plain = ReadingBar.text("checking Shop.sqlite", seconds: 12.9)
    #expect(plain == "checking Shop.sqlite, 12 s")
    let inTable = ReadingBar.text("inspecting S", seconds: 1, table: "ZBOOK", share: 0.437)
    #expect(inTable == "inspecting S, 1 s: ZBOOK 43 %")
  }
}
