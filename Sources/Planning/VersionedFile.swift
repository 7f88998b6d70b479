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
    // Looked at first: fields of another version may have other meanings.
    guard found == Content.formatVersion else { throw OtherFormatVersion(found: found) }
    content = try Content(from: decoder)
  }

  /// Encodes the content with the version of its format beside its fields.
  package func encode(to encoder: any Encoder) throws {
    try content.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Content.formatVersion, forKey: .format)
  }
}

/// A file has another format version than this build reads.
package struct OtherFormatVersion: Error, Hashable, Sendable {
  /// The version that the file names; nil where it names none.
  package var found: Int?

  /// Takes the version that the file names.
  package init(found: Int?) { self.found = found }
}
