import Digests

/// The version hash of an entity: 32 bytes by which Core Data knows one version from another.
package struct VersionHash: Hashable, Sendable, Codable {
  /// Exactly 32 bytes.
  package var bytes: [UInt8]

  /// Takes the bytes that metadata has; nil unless there are 32.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// 64 lower-case hexadecimal digits.
  package var hexadecimal: String { bytes.hexadecimal }
}
