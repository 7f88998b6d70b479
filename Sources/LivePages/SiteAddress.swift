/// The addresses of the site; every other one names nothing.
///
/// Nothing in them is a path of a file: migrations have identifiers.
enum SiteAddress: Hashable {
  case list, listEvents, metrics, health, style, script, icon
  case migration(String)
  case migrationEvents(String)
  case fleet(String)
  case fleetEvents(String)
  /// A store of a fleet, by its place in the list.
  case store(String, Int)
  case storeEvents(String, Int)
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
      guard parts.count >= 3, parts[0].isEmpty, MigrationIdentifier.isOne(String(parts[2])) else {
        return nil
      }
      let id = String(parts[2])
      if parts[1] == "f" {
        self.init(fleet: id, rest: parts.dropFirst(3))
      } else if parts[1] != "m" || parts.count > 4 {
        return nil
      } else if parts.count == 3 {
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

  /// Reads what follows the identifier of a fleet.
  private init?(fleet id: String, rest: ArraySlice<some StringProtocol>) {
    let number = rest.first.flatMap { Self.number(String($0)) }
    switch (rest.count, number, rest.last.map { $0 == "events" } ?? false) {
    case (0, _, _): self = .fleet(id)
    case (1, nil, true): self = .fleetEvents(id)
    case (1, let number?, _): self = .store(id, number)
    case (2, let number?, true): self = .storeEvents(id, number)
    default: return nil
    }
  }

  /// A number as it is written here, and not otherwise.
  private static func number(_ text: String) -> Int? {
    Int(text).flatMap { $0 >= 0 && "\($0)" == text ? $0 : nil }
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
    case .fleet(let id): "/f/\(id)"
    case .fleetEvents(let id): "/f/\(id)/events"
    case .store(let id, let number): "/f/\(id)/\(number)"
    case .storeEvents(let id, let number): "/f/\(id)/\(number)/events"
    case .request(let id, let request): "/m/\(id)/\(request.rawValue)"
    }
  }

  /// Whether it takes requests, and shows nothing.
  var takesForms: Bool {
    if case .request = self { true } else { false }
  }
}

/// The requests of a visitor to a migration.
enum ControlRequest: String, Hashable, CaseIterable {
  case pause, resume, cancel, workers, rate
}
