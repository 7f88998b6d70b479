import Testing

@testable import Godwit

struct CountTextTests {
  @Test func `one of anything is not several`() {
    #expect("\(CountText(1, "row"))" == "1 row")
    #expect("\(CountText(0, "row"))" == "0 rows")
    #expect("\(CountText(2, "page is", "pages are")) missing" == "2 pages are missing")
    #expect("\(CountText(1, "page is", "pages are")) missing" == "1 page is missing")
    #expect("\(ByteText(1)), \(ByteText(2))" == "1 byte, 2 bytes")
  }
}
