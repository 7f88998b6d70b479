import SystemCalls
import SystemPackage

/// A new file that is written through a buffer.
final class ByteFile {
  private static let bufferSize = 1 << 20

  /// The bytes that are not written yet; `flushIfFull()` bounds them.
  var buffer: [UInt8] = []
  private let file: FileDescriptor
  private var isOpen = true

  init(creating path: FilePath) throws {
    file = try Files.open(
      path, mode: .writeOnly, options: [.create, .exclusiveCreate],
      permissions: [.ownerReadWrite, .groupRead, .otherRead])
    buffer.reserveCapacity(Self.bufferSize + 4096)
  }

  deinit { if isOpen { try? file.close() } }

  func flushIfFull() throws { if buffer.count >= Self.bufferSize { try flush() } }

  private func flush() throws {
    _ = try file.writeAll(buffer)
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes the rest and syncs the file.
  func close() throws {
    guard isOpen else { return }
    try flush()
    try Files.syncFile(file)
    isOpen = false
    try file.close()
  }
}

extension [UInt8] {
  /// Appends a whole number in decimal digits.
  mutating func append(decimal number: Int64) {
    if number < 0 { append(UInt8(ascii: "-")) }
    let rest = number.magnitude
    var scale: UInt64 = 1
    while rest / scale >= 10 { scale *= 10 }
    while scale > 0 {
      append(UInt8(ascii: "0") + UInt8(rest / scale % 10))
      scale /= 10
    }
  }

  /// Appends the shortest digits that give the same number again; infinities as `inf`.
  mutating func append(real number: Double) { append(contentsOf: number.description.utf8) }

  /// Appends bytes in Base64 (RFC 4648, section 4).
  mutating func append(base64 bytes: UnsafeRawBufferPointer) {
    let digits = base64Digits
    reserveCapacity(count + (bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let taken = Swift.min(3, bytes.count - index)
      var group = UInt32(bytes[index]) << 16
      if taken > 1 { group |= UInt32(bytes[index + 1]) << 8 }
      if taken > 2 { group |= UInt32(bytes[index + 2]) }
      for digit in 0..<4 {
        append(
          digit <= taken ? digits[Int(group >> UInt32(18 - 6 * digit) & 63)] : UInt8(ascii: "="))
      }
      index += taken
    }
  }

  /// Appends a text as a JSON string.
  mutating func append(jsonString text: UnsafeBufferPointer<UInt8>) {
    append(UInt8(ascii: "\""))
    var start = 0
    for index in text.indices where text[index].isEscapedInJSON {
      append(contentsOf: text[start..<index])
      start = index + 1
      appendEscape(of: text[index])
    }
    append(contentsOf: text[start...])
    append(UInt8(ascii: "\""))
  }

  private mutating func appendEscape(of byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\n"): append(UInt8(ascii: "n"))
    case UInt8(ascii: "\r"): append(UInt8(ascii: "r"))
    case UInt8(ascii: "\t"): append(UInt8(ascii: "t"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    default:
      let digits = Array("0123456789abcdef".utf8)
      append(contentsOf: "u00".utf8)
      append(digits[Int(byte >> 4)])
      append(digits[Int(byte & 15)])
    }
  }

  mutating func append(jsonString text: String) {
    var text = text
    text.withUTF8 { append(jsonString: $0) }
  }
}

private let base64Digits = Array(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

extension UInt8 {
  fileprivate var isEscapedInJSON: Bool {
    self < 0x20 || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
  }
}
