import Foundation
import Godwit
import SystemPackage
import Testing

@testable import LivePages

@Suite struct AccessTests {
  private static let open = SiteAccess(token: nil, hosts: ["Proxy.example"], port: 8787)

  @Test(arguments: [
    "localhost", "LOCALHOST:8787", "127.0.0.1:9", "192.168.1.7", "[::1]:8787", "[fe80::1]",
    "proxy.example:443",
  ])
  func `addresses and known names are answered`(host: String) {
    #expect(Self.open.knows(host: host))
  }

  @Test(
    arguments: [
      nil, "", ":8787", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
      "127.0.0.1:8787@evil.example", "[::1", "[evil.example]", "[]", "1.2.3", "1.2.3.256",
      "1.2.3.+4",
      "0x7f.0.0.1", "localhost:80x", "localhost evil.example", "xn--localhost",
    ] as [String?])
  func `names that a stranger could own are not`(host: String?) {
    #expect(!Self.open.knows(host: host))
  }

  @Test func `a token opens by a header, by a cookie, and once by the address`() {
    let token = AccessToken()
    let access = SiteAccess(token: token, hosts: [], port: 80)
    var request = SiteRequest("GET", "/")
    #expect(access.entrance(request) == .refused)
    request.authorization = "Bearer \(token.text)"
    #expect(access.entrance(request) == .header)
    request.authorization = "bearer \(token.text)x"
    #expect(access.entrance(request) == .refused)
    request.authorization = token.text
    #expect(access.entrance(request) == .refused)
    request.authorization = nil
    request.cookie = "a=b; godwit-80=\(token.text)"
    #expect(access.entrance(request) == .cookie)
    request.cookie = "godwit-81=\(token.text); godwit-80="
    #expect(access.entrance(request) == .refused)
    #expect(access.entrance(SiteRequest("GET", "/?token=\(token.text)")) == .address)
    #expect(access.entrance(SiteRequest("GET", "/?token=")) == .refused)
    #expect(access.entrance(SiteRequest("GET", "/?token=\(token.text.dropLast())")) == .refused)
    #expect(access.rememberingCookie.1.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
  }

  @Test func `a header that is wrong is not made good by a cookie`() {
    let token = AccessToken()
    let access = SiteAccess(token: token, hosts: [], port: 80)
    var request = SiteRequest("GET", "/")
    request.cookie = "godwit-80=\(token.text)"
    request.authorization = "Bearer 0"
    #expect(access.entrance(request) == .refused)
  }

  @Test func `what changes something comes from a page of the site, or from no browser`() {
    let access = SiteAccess(token: AccessToken(), hosts: [], port: 80)
    var request = SiteRequest("POST", "/m/x/pause")
    request.host = "localhost:80"
    func isOwn(_ origin: String?, _ entrance: SiteAccess.Entrance, _ key: String?) -> Bool {
      request.origin = origin
      return access.isOwn(request, by: entrance, key: key)
    }
    #expect(isOwn("http://localhost:80", .cookie, access.key))
    #expect(isOwn("https://localhost:80", .open, access.key))
    #expect(!isOwn("http://localhost:80", .cookie, nil))
    #expect(!isOwn("http://localhost:80", .cookie, access.key + "0"))
    for origin in ["http://evil.example", "null", "http://localhost", "http://localhost:80/", ""] {
      #expect(!isOwn(origin, .cookie, access.key))
      #expect(!isOwn(origin, .header, access.key))
    }
    #expect(!isOwn(nil, .cookie, access.key))
    #expect(isOwn(nil, .header, nil))
    #expect(access.key != SiteAccess(token: nil, hosts: [], port: 80).key)
  }

  @Test func `tokens are long, and never the same`() {
    let tokens = (0..<50).map { _ in AccessToken().text }
    #expect(Set(tokens).count == 50)
    #expect(tokens.allSatisfy { $0.utf8.count == 48 })
  }

  @Test func `a file has a token if nobody else may read it`() throws {
    let folder = try ScratchFolder()
    let path = folder.path.appending("token")
    func read(_ text: String, mode: Int = 0o600) throws -> String {
      try Data(text.utf8).write(to: URL(filePath: path.string))
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: path.string)
      return try AccessToken(file: path).text
    }
    #expect(try read("0123456789abcdef\nmore") == "0123456789abcdef")
    #expect(try read("A-Z._~0123456789\r\n") == "A-Z._~0123456789")
    for mode in [0o640, 0o604, 0o620, 0o644] {
      #expect(throws: MigrationFailure.self) { try read("0123456789abcdef", mode: mode) }
    }
    for text in ["", "\n", "short", "0123456789 abcdef", "0123456789abcde;", "0123456789abcdé"] {
      #expect(throws: MigrationFailure.self) { try read(text) }
    }
    #expect(throws: MigrationFailure.self) { try read(String(repeating: "a", count: 2_000)) }
    #expect(throws: MigrationFailure.self) { try AccessToken(file: folder.path) }
    #expect(throws: MigrationFailure.self) { try AccessToken(file: folder.path.appending("no")) }
  }
}

/// A folder that is gone after the test.
final class ScratchFolder {
  let path: FilePath

  init() throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "live-pages-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = FilePath(folder.resolvingSymlinksInPath().path)
  }

  deinit {
    // A folder that stays does no harm.
    try? FileManager.default.removeItem(atPath: path.string)
  }
}
