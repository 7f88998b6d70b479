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

  @Test func `counts have their digits in groups of three`() {
    #expect("\(CountText(999, "row")), \(CountText(1000, "row"))" == "999 rows, 1,000 rows")
    #expect("\(GroupedText(12_345)), \(GroupedText(-123_456))" == "12,345, -123,456")
    #expect("\(GroupedText(Int64.min))" == "-9,223,372,036,854,775,808")
    #expect("\(GroupedText(UInt64.max))" == "18,446,744,073,709,551,615")
  }
}
