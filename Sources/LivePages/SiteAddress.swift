/// The addresses of the site; every other one names nothing.
///
/// Nothing in them is a path of a file: migrations have identifiers.
enum SiteAddress: Hashable {
  case list, listEvents, metrics, health, style, script, icon
  case migration(String)
  case migrationEvents(String)
  case request(String, ControlRequest)

  /// Reads a path as it was sent, without decoding anything in it.
  init?(_ path: some StringProtocol) {
    switch path {
    case "/": self = .list
    case "/events": self = .listEvents
    case "/metrics": self = .metrics
    case "/healthz": self = .health
    case "/style.css": self = .style
    case "/live.js": self = .script
    case "/icon.svg": self = .icon
    default:
      let parts = path.split(separator: "/", omittingEmptySubsequences: false)
      guard (3...4).contains(parts.count), parts[0].isEmpty, parts[1] == "m" else { return nil }
      let id = String(parts[2])
      guard MigrationIdentifier.isOne(id) else { return nil }
      if parts.count == 3 {
        self = .migration(id)
      } else if parts[3] == "events" {
        self = .migrationEvents(id)
      } else if let request = ControlRequest(rawValue: String(parts[3])) {
        self = .request(id, request)
      } else {
        return nil
      }
    }
  }

  /// The path that leads there.
  var path: String {
    switch self {
    case .list: "/"
    case .listEvents: "/events"
    case .metrics: "/metrics"
    case .health: "/healthz"
    case .style: "/style.css"
    case .script: "/live.js"
    case .icon: "/icon.svg"
    case .migration(let id): "/m/\(id)"
    case .migrationEvents(let id): "/m/\(id)/events"
    case .request(let id, let request): "/m/\(id)/\(request.rawValue)"
    }
  }

  /// Whether it takes requests, and shows nothing.
  var takesForms: Bool {
    if case .request = self { true } else { false }
  }
}

/// What a visitor may ask a migration for.
enum ControlRequest: String, Hashable, CaseIterable {
  case pause, resume, cancel, workers, rate
}
