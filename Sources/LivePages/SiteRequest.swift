import Foundation

/// The request of a visitor, as far as it matters here.
public struct SiteRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String
  /// The address as it was sent: the path, and what follows a question mark.
  public var target: String
  /// The header fields that matter, nil where they are missing.
  public var host, origin, authorization, cookie, accept: String?
  /// The fields of a form, as they were sent.
  public var body = ""

  /// Takes a method and an address.
  public init(_ method: String, _ target: String) { (self.method, self.target) = (method, target) }

  var path: Substring { target.prefix { $0 != "?" } }

  /// The value of a field that follows the question mark.
  func parameter(_ name: String) -> String? {
    FormFields(String(target.dropFirst(path.count + 1)))[name]
  }
}

/// The fields of a form, as browsers send them in addresses and bodies.
struct FormFields {
  private var values: [String: String] = [:]

  /// Takes `name=value` with `&` in between; of two fields of a name the first counts.
  init(_ text: String) {
    for part in text.split(separator: "&") {
      let name = part.prefix { $0 != "=" }
      guard let key = Self.decoded(name), let value = Self.decoded(part.dropFirst(name.count + 1))
      else { continue }
      values[key] = values[key] ?? value
    }
  }

  subscript(name: String) -> String? { values[name] }

  private static func decoded(_ text: Substring) -> String? {
    text.replacing("+", with: " ").removingPercentEncoding
  }
}

/// What a visitor gets.
public struct SiteAnswer: Sendable {
  /// What follows the header.
  public enum Body: Sendable {
    case text(String)
    /// News, until there are no more.
    case events(EventFeed)
  }

  /// The status of HTTP.
  public var status: Int
  /// Header fields.
  public var headers: [(name: String, value: String)]
  /// What follows; a request for the header alone does not get it.
  public var body: Body

  init(_ status: Int, _ kind: String, _ text: String, headers: [(String, String)] = []) {
    (self.status, body) = (status, .text(text))
    self.headers = Self.everywhere + [("Content-Type", kind)] + headers
  }

  init(_ feed: EventFeed) {
    (status, body) = (200, .events(feed))
    // A proxy that collects answers would hold the news back.
    headers =
      Self.everywhere + [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")]
  }

  /// A sentence for the visitor.
  static func sentence(
    _ status: Int, _ text: String, headers: [(String, String)] = []
  ) -> SiteAnswer {
    SiteAnswer(status, "text/plain; charset=utf-8", text + "\n", headers: headers)
  }

  /// Sends a visitor to another page of this site.
  static func goTo(_ address: SiteAddress, headers: [(String, String)] = []) -> SiteAnswer {
    sentence(303, "See \(address.path)", headers: [("Location", address.path)] + headers)
  }

  /// The site is not cached, framed or leaked, and runs no foreign content.
  static let everywhere = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"),
    // Without any referrer, browsers would not send the origin of a form.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
  ]
}
