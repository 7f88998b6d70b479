import CSodium

/// A function of the Secure Hash Standard (FIPS 180-4), as libsodium computes it.
package enum SecureHash: Sendable {
  case sha256, sha512

  /// The bytes of a digest.
  package var length: Int {
    switch self {
    case .sha256: Int(crypto_hash_sha256_BYTES)
    case .sha512: Int(crypto_hash_sha512_BYTES)
    }
  }

  /// The digest of a message.
  package func digest(of message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: length)
    let count = UInt64(message.count)
    let status =
      switch self {
      case .sha256: crypto_hash_sha256(&digest, message, count)
      case .sha512: crypto_hash_sha512(&digest, message, count)
      }
    precondition(status == 0, "a digest of bytes in memory cannot fail")
    return digest
  }
}

/// Secrets, compared in a time that does not depend on where they differ.
package enum SecretComparison {
  /// Whether two secrets of one length are the same bytes.
  package static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    first.count == second.count && sodium_memcmp(first, second, first.count) == 0
  }
}

/// The SHA-256 of a message that comes in parts.
package struct SecureHashStream {
  private var state = crypto_hash_sha256_state()

  /// Begins with no bytes.
  package init() {
    let status = crypto_hash_sha256_init(&state)
    precondition(status == 0, "a digest of bytes in memory cannot fail")
  }

  /// Appends bytes to the message.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress else { return }
    let status = crypto_hash_sha256_update(&state, start, UInt64(bytes.count))
    precondition(status == 0, "a digest of bytes in memory cannot fail")
  }

  /// The digest of all bytes so far, after which nothing more is appended.
  package consuming func digest() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: SecureHash.sha256.length)
    let status = crypto_hash_sha256_final(&state, &digest)
    precondition(status == 0, "a digest of bytes in memory cannot fail")
    return digest
  }
}
