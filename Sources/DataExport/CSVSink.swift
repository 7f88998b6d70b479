import SystemPackage

/// Writes rows as RFC 4180 has them, in UTF-8, with a header and line feeds.
///
/// An empty field is NULL, and an empty text is `""`.
final class CSVSink: RowSink {
  private let file: ByteFile
  private var isFirst = true

  init(_ table: ExportTable, creating path: FilePath) throws {
    file = try ByteFile(creating: path)
    for column in table.columns { put(text: Array(column.name.utf8)) }
    endLine()
  }

  private func separate() {
    if !isFirst { file.buffer.append(UInt8(ascii: ",")) }
    isFirst = false
  }

  private func endLine() {
    file.buffer.append(UInt8(ascii: "\n"))
    isFirst = true
  }

  func putNull() { separate() }

  func put(integer: Int64) {
    separate()
    file.buffer.append(decimal: integer)
  }

  func put(boolean: Bool) {
    separate()
    file.buffer.append(contentsOf: boolean ? "true".utf8 : "false".utf8)
  }

  func put(real: Double) {
    separate()
    file.buffer.append(real: real)
  }

  func put(digits: UnsafeBufferPointer<UInt8>) {
    separate()
    file.buffer.append(contentsOf: digits)
  }

  func put(text: [UInt8]) { text.withUnsafeBufferPointer { put(text: $0) } }

  func put(text: UnsafeBufferPointer<UInt8>) {
    separate()
    guard text.isEmpty || text.contains(where: \.isQuotedInCSV) else {
      file.buffer.append(contentsOf: text)
      return
    }
    let quote = UInt8(ascii: "\"")
    file.buffer.append(quote)
    var start = 0
    for index in text.indices where text[index] == quote {
      file.buffer.append(contentsOf: text[start...index])
      file.buffer.append(quote)
      start = index + 1
    }
    file.buffer.append(contentsOf: text[start...])
    file.buffer.append(quote)
  }

  func put(bytes: UnsafeRawBufferPointer) {
    if bytes.isEmpty { return put(text: []) }
    separate()
    file.buffer.append(base64: bytes)
  }

  func put(json: [UInt8]) { put(text: json) }

  func put(file path: String) { put(text: Array(path.utf8)) }

  func endRow() throws {
    endLine()
    try file.flushIfFull()
  }

  func close() throws { try file.close() }
}

extension UInt8 {
  fileprivate var isQuotedInCSV: Bool {
    switch self {
    case UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: "\n"), UInt8(ascii: "\r"),
      UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: ";"):
      true
    default: false
    }
  }
}
