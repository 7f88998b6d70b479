import Digests
import SystemPackage

/// What stands for a migration in addresses: a digest of the path of what it makes.
///
/// It is the same in every run of the server, and does not reveal the path.
enum MigrationIdentifier {
  private static let length = 24

  static func of(_ destination: FilePath) -> String {
    let digest = SecureHash.sha256.digest(of: Array(destination.string.utf8))
    return String(
      digest.flatMap { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.prefix(length))
  }

  static func isOne(_ text: String) -> Bool {
    text.utf8.count == length
      && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }
}
