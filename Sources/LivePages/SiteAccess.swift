// (1) A browser requests the name that its user typed. A name that was made to lead here afterwards
//     (DNS rebinding) is none of those that are known, so its pages get nothing.
// (2) If there is a token, only /healthz is served without it.
// (3) What changes something needs a token that no browser sends by itself, or comes from a page of
//     this site: from its origin, and with its key.

/// The rules of access: who may read, and who may send requests to migrations.
struct SiteAccess: Sendable {
  /// How a visitor was let in.
  enum Entrance: Hashable {
    /// Everybody may look.
    case open
    /// By a header, which no browser sends by itself.
    case header
    case cookie
    /// By the address, which is to be forgotten.
    case address
    case refused
  }

  private let token: AccessToken?
  private let hosts: Set<String>
  private let cookieName: String
  /// What forms of this run of the server have, and other pages do not know.
  let key = AccessToken.random(bytes: 24)

  /// Lets everybody in where there is no token.
  ///
  /// - Parameters:
  ///   - hosts: names of the site, besides addresses and `localhost`.
  ///   - port: the port, which distinguishes cookies of several servers of a machine.
  init(token: AccessToken?, hosts: [String], port: Int) {
    self.token = token
    self.hosts = Set(hosts.map { $0.lowercased() } + ["localhost"])
    cookieName = "godwit-\(port)"
  }

  /// Whether a request names the site by one of its names, or by an address.
  func knows(host: String?) -> Bool {
    guard let host = host?.lowercased(), let name = Self.name(in: host) else { return false }
    return hosts.contains(name) || Self.isAddress(name)
  }

  /// How a visitor comes in.
  func entrance(_ request: SiteRequest) -> Entrance {
    guard let token else { return .open }
    if let given = request.authorization {
      let words = given.split(separator: " ", maxSplits: 1)
      let isRight = words.count == 2 && words[0].lowercased() == "bearer" && token.matches(words[1])
      return isRight ? .header : .refused
    }
    if let given = request.parameter("token") { return token.matches(given) ? .address : .refused }
    return cookies(request).contains { token.matches($0) } ? .cookie : .refused
  }

  /// The header field that lets a browser remember the token.
  var rememberingCookie: (String, String) {
    ("Set-Cookie", "\(cookieName)=\(token?.text ?? ""); Path=/; HttpOnly; SameSite=Strict")
  }

  /// Whether a request that changes something comes from a page of this site, or from no browser.
  func isOwn(_ request: SiteRequest, by entrance: Entrance, key given: String?) -> Bool {
    if let origin = request.origin {
      guard let host = request.host, origin == "http://\(host)" || origin == "https://\(host)"
      else { return false }
    }
    if entrance == .header { return true }
    return request.origin != nil && given == key
  }

  private func cookies(_ request: SiteRequest) -> [Substring] {
    (request.cookie ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
      .filter { $0.hasPrefix(cookieName + "=") }.map { $0.dropFirst(cookieName.count + 1) }
  }

  // MARK: Names and addresses

  /// The name in `name:port`, nil where it is none.
  private static func name(in host: String) -> String? {
    let name: Substring
    if host.hasPrefix("[") {
      guard let end = host.firstIndex(of: "]") else { return nil }
      name = host[...end]
    } else {
      name = host.prefix { $0 != ":" }
    }
    let rest = host.dropFirst(name.count)
    let isPort =
      rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy { $0.isWholeNumber }
    return isPort && !name.isEmpty ? String(name) : nil
  }

  /// Whether a text in lower case is an address, which no other site can claim.
  private static func isAddress(_ name: String) -> Bool {
    if name.hasPrefix("[") {
      let inner = name.dropFirst().dropLast()
      return inner.contains(":") && inner.utf8.allSatisfy { ":.0123456789abcdef".utf8.contains($0) }
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        part.utf8.allSatisfy { (48...57).contains($0) } && UInt8(part) != nil
      }
  }
}
