import Digests
import Testing

/// The expected digests are those of the examples that NIST publishes with FIPS 180-4.
@Suite struct SecureHashTests {
  private static let twoBlocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (twoBlocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
  ])
  func `SHA-256 gives the digests of its standard`(message: String, digest: String) {
    #expect(Self.hexadecimal(SecureHash.sha256.digest(of: Array(message.utf8))) == digest)
  }

  @Test func `SHA-256 takes a million bytes`() {
    let message = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
    #expect(
      Self.hexadecimal(SecureHash.sha256.digest(of: message))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test(arguments: [0, 1, 63, 64, 65, 999])
  func `SHA-256 is the same of a message in parts`(part: Int) {
    let message = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var stream = SecureHashStream()
    for bytes in [message[..<part], message[part...], []] {
      Array(bytes).withUnsafeBytes { stream.append($0) }
    }
    #expect(stream.digest() == SecureHash.sha256.digest(of: message))
  }

  @Test(arguments: [
    (
      "",
      "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
    ),
    (
      "abc",
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
  ])
  func `SHA-512 gives the digests of its standard`(message: String, digest: String) {
    #expect(Self.hexadecimal(SecureHash.sha512.digest(of: Array(message.utf8))) == digest)
  }

  @Test func `secrets are equal only in length and bytes`() {
    #expect(SecretComparison.areEqual([], []))
    #expect(SecretComparison.areEqual([1, 2, 3], [1, 2, 3]))
    #expect(!SecretComparison.areEqual([1, 2, 3], [1, 2, 4]))
    #expect(!SecretComparison.areEqual([1, 2, 3], [1, 2]))
  }
}
