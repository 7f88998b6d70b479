package import Foundation

/// A file that one run writes and a later one may take up.
package protocol ResumableFile: Codable {
  /// The version of the format, raised whenever a file of an earlier one could be misread.
  static var formatVersion: Int { get }
}

/// A file with the version of its format among its fields; one of another version is none.
package struct VersionedFile<Content: ResumableFile>: Codable {
  /// What the file is about.
  package var content: Content

  /// Takes what is written, or was read.
  package init(_ content: Content) { self.content = content }

  private enum CodingKeys: String, CodingKey {
    case format
  }

  /// Decodes a file of this build's format.
  ///
  /// - Throws: `OtherFormatVersion` where the file has another.
  package init(from decoder: any Decoder) throws {
    let found = try decoder.container(keyedBy: CodingKeys.self)
      .decodeIfPresent(Int.self, forKey: .format)
    // Read first: fields of another version may have other meanings.
    guard found == Content.formatVersion else { throw OtherFormatVersion(found: found) }
    content = try Content(from: decoder)
  }

  /// Encodes the content with the version of its format next to its fields.
  package func encode(to encoder: any Encoder) throws {
    try content.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Content.formatVersion, forKey: .format)
  }
}

// A sealed file begins with the checksum of all that follows: what a disk, a short write or a hand
// changed in it is found before any of it is believed.
extension VersionedFile {
  private static var head: String { #"{"checksum":""# }
  private static var neck: String { #"","# }

  /// The bytes of the file, JSON whose first field is a checksum of the rest.
  package func sealed(by encoder: JSONEncoder = JSONEncoder()) throws -> [UInt8] {
    let rest = Array(try encoder.encode(self).dropFirst())  // the brace
    return Array("\(Self.head)\(Self.digits(of: rest[...]))\(Self.neck)".utf8) + rest
  }

  /// Reads a file that is as it was written.
  ///
  /// - Throws: `OtherFormatVersion` for one of another version, else `DecodingError`.
  package init(sealed bytes: [UInt8], by decoder: JSONDecoder = JSONDecoder()) throws {
    let start = Self.head.utf8.count + 16 + Self.neck.utf8.count
    let rest = bytes.dropFirst(start)
    let expected = "\(Self.head)\(Self.digits(of: rest))\(Self.neck)"
    guard bytes.count > start, bytes.prefix(start).elementsEqual(expected.utf8) else {
      // A file of an earlier version has no checksum, and only its version is needed.
      if let found = try? decoder.decode(Format.self, from: Data(bytes)),
        found.format != Content.formatVersion
      {
        throw OtherFormatVersion(found: found.format)
      }
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "the checksum is another one"))
    }
    self = try decoder.decode(Self.self, from: Data(bytes))
  }

  private struct Format: Decodable { var format: Int? }

  /// Sixteen hexadecimal digits that distinguish contents (FNV-1a).
  private static func digits(of bytes: ArraySlice<UInt8>) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// A file has another format version than this build reads.
package struct OtherFormatVersion: Error, Hashable, Sendable {
  /// The version that the file names; nil where it names none.
  package var found: Int?

  /// Takes the version that the file names.
  package init(found: Int?) { self.found = found }
}
