import Testing

@testable import DataExport

@Suite struct FileNamesTests {
  @Test func `Names that differ only in case get files of their own`() {
    var names = FileNames()
    #expect(names.unique(for: "Book") == "Book")
    #expect(names.unique(for: "BOOK") == "BOOK-2")
    #expect(names.unique(for: "export") == "export-2")
  }

  @Test func `A name cannot leave the folder`() {
    #expect(FileNames.plain("../../etc/passwd") == "_.._.._etc_passwd")
    #expect(FileNames.plain("") == "_")
    #expect(FileNames.plain("a\u{0}b/c") == "a_b_c")
    #expect(FileNames.plain(String(repeating: "é", count: 500)).utf8.count <= 121)
  }

  @Test func `Bytes are written in Base64 with padding`() {
    for (bytes, text) in [([], ""), ([1], "AQ=="), ([1, 2], "AQI="), ([1, 2, 255], "AQL/")]
      as [([UInt8], String)]
    {
      var result: [UInt8] = []
      bytes.withUnsafeBytes { result.append(base64: $0) }
      #expect(String(decoding: result, as: UTF8.self) == text)
    }
  }

  @Test func `Whole numbers are written with all digits`() {
    for number in [0, 9, 10, -1, .min, .max] as [Int64] {
      var result: [UInt8] = []
      result.append(decimal: number)
      #expect(String(decoding: result, as: UTF8.self) == "\(number)")
    }
  }
}
