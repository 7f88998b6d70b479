import Godwit
import SystemPackage
import Testing

@testable import LivePages

@Suite struct PlaceTests {
  private static func place(_ text: String) throws -> ServerPlace {
    try ServerPlace(text) { $0.contains("example") ? nil : $0 }
  }

  @Test(arguments: [
    ("localhost", "127.0.0.1", "127.0.0.1", true), ("127.0.0.9", "127.0.0.9", "127.0.0.9", true),
    ("::1", "::1", "[::1]", true), ("0.0.0.0", "0.0.0.0", "0.0.0.0", false),
    ("fe80::1", "fe80::1", "[fe80::1]", false),
  ])
  func `only loopback addresses need no token`(
    text: String, address: String, host: String, isLoopback: Bool
  ) throws {
    let place = try Self.place(text)
    #expect(place.address == address)
    #expect(place.host == host)
    #expect(place.isLoopback == isLoopback)
  }

  @Test func `what is no address is a wrong usage`() {
    let failure = #expect(throws: MigrationFailure.self) { try Self.place("shop.example") }
    #expect(failure?.exitStatus == .usage)
  }

  @Test(arguments: [
    (Errno.addressInUse, Godwit.ExitStatus.inUse), (.permissionDenied, .cannotCreate),
    (.addressNotAvailable, .usage),
  ])
  func `a port that cannot be taken is told by its cause`(
    errno: Errno, status: Godwit.ExitStatus
  ) throws {
    let failure = try Self.place("127.0.0.1").failure(errno, port: 80)
    #expect(failure.exitStatus == status)
    #expect(failure.sentences.contains { $0.contains("80") })
  }
}
