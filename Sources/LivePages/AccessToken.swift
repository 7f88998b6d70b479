import Digests
import Godwit
import SystemCalls
import SystemPackage

/// What visitors have to know, where not everybody may look.
struct AccessToken: Sendable {
  /// The token as it is given.
  let text: String

  private static let (fewest, most) = (16, 1_024)

  /// Makes one up, of 192 random bits.
  init() { text = Self.random(bytes: 24) }

  /// Reads the first line of a file that only its owner may read.
  ///
  /// - Throws: `MigrationFailure`, if it is not there, has no token, or others may read it.
  init(file path: FilePath) throws {
    let bytes: [UInt8]
    do {
      // A pipe without a writer would be waited for.
      let file = try FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec])
      bytes = try file.closeAfter {
        let status = try Files.fileStatus(of: file)
        guard status.kind == .file else { throw Self.failure("\(path) is not a regular file.") }
        guard status.mode & 0o077 == 0 else {
          throw Self.failure(
            "other users can read \(path): use `chmod 600`, and change the token.")
        }
        return try Files.readToEnd(file, limit: Self.most)
      }
    } catch Errno.fileTooLarge {
      throw Self.failure("\(path) is longer than \(Self.most) bytes, the maximum of a token.")
    } catch let error as Errno {
      throw MigrationFailure(SystemCallError(operation: .open, path: path, errno: error))
    }
    let line = String(decoding: bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
    guard line.utf8.allSatisfy(Self.isTokenByte), line.utf8.count >= Self.fewest else {
      throw Self.failure(
        "\(path) has no token: its first line needs at least \(Self.fewest) letters, digits or "
          + "-._~."
      )
    }
    text = line
  }

  /// Whether somebody knows it; takes the same time for every answer of one length.
  func matches(_ answer: some StringProtocol) -> Bool {
    SecretComparison.areEqual(
      SecureHash.sha256.digest(of: Array(text.utf8)),
      SecureHash.sha256.digest(of: Array(answer.utf8)))
  }

  /// Digits of random bytes.
  static func random(bytes: Int) -> String {
    (0..<bytes).map { _ in
      let byte = UInt8.random(in: .min ... .max)
      return (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  /// The characters that mean nothing in addresses, headers and cookies.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._~".utf8.contains(byte)
    }
  }

  private static func failure(_ sentence: String) -> MigrationFailure {
    MigrationFailure(.usage, sentence)
  }
}
