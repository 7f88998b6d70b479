import SystemPackage

/// Writes each row as a JSON object on a line of its own; elements of composites are nested.
final class JSONLinesSink: RowSink {
  private let file: ByteFile
  /// The bytes before the value of each column.
  private let prefixes: [[UInt8]]
  /// The bytes after the last value.
  private let suffix: [UInt8]
  private var column = 0

  init(_ table: ExportTable, creating path: FilePath) throws {
    file = try ByteFile(creating: path)
    var prefixes: [[UInt8]] = []
    var open: [Substring] = []
    for (index, column) in table.columns.enumerated() {
      // A column of a relationship, such as `author._entity`, is no element of a composite.
      let isElement: Bool = if case .attribute = column.kind { true } else { false }
      let isNested = isElement && !table.isGuessed && !column.isLabel(in: table)
      let path = isNested ? column.name.split(separator: ".") : [column.name[...]]
      let shared = zip(open, path.dropLast()).prefix { $0 == $1 }.count
      var prefix = [UInt8](repeating: UInt8(ascii: "}"), count: open.count - shared)
      prefix.append(UInt8(ascii: index == 0 ? "{" : ","))
      for name in path.dropLast()[shared...] {
        prefix.append(jsonString: String(name))
        prefix.append(contentsOf: ":{".utf8)
      }
      prefix.append(jsonString: String(path.last ?? ""))
      prefix.append(UInt8(ascii: ":"))
      prefixes.append(prefix)
      open = Array(path.dropLast())
    }
    self.prefixes = prefixes
    suffix = [UInt8](repeating: UInt8(ascii: "}"), count: open.count + 1) + [UInt8(ascii: "\n")]
  }

  private func begin() {
    file.buffer.append(contentsOf: prefixes[column])
    column += 1
  }

  func putNull() {
    begin()
    file.buffer.append(contentsOf: "null".utf8)
  }

  func put(integer: Int64) {
    begin()
    file.buffer.append(decimal: integer)
  }

  func put(boolean: Bool) {
    begin()
    file.buffer.append(contentsOf: boolean ? "true".utf8 : "false".utf8)
  }

  func put(real: Double) {
    begin()
    if real.isFinite {
      file.buffer.append(real: real)
    } else {
      // JSON has no infinities.
      file.buffer.append(jsonString: real.description)
    }
  }

  func put(digits: UnsafeBufferPointer<UInt8>) {
    begin()
    file.buffer.append(contentsOf: digits)
  }

  func put(text: UnsafeBufferPointer<UInt8>) {
    begin()
    file.buffer.append(jsonString: text)
  }

  func put(bytes: UnsafeRawBufferPointer) {
    begin()
    file.buffer.append(UInt8(ascii: "\""))
    file.buffer.append(base64: bytes)
    file.buffer.append(UInt8(ascii: "\""))
  }

  func put(json: [UInt8]) {
    begin()
    file.buffer.append(contentsOf: json)
  }

  func put(file path: String) {
    begin()
    file.buffer.append(contentsOf: "{\"file\":".utf8)
    file.buffer.append(jsonString: path)
    file.buffer.append(UInt8(ascii: "}"))
  }

  func endRow() throws {
    file.buffer.append(contentsOf: suffix)
    column = 0
    try file.flushIfFull()
  }

  func close() throws { try file.close() }
}

extension ExportColumn {
  /// Whether it shows an attribute of another object: its name begins with that of a reference.
  fileprivate func isLabel(in table: ExportTable) -> Bool {
    table.columns.contains { $0.kind == .reference && name.hasPrefix("\($0.name).") }
  }
}
