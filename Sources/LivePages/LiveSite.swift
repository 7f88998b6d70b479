import Foundation
import Godwit
import GodwitTool
import Pages
import SystemCalls
import SystemPackage

/// What is answered to every request; it has no socket.
public struct LiveSite: Sendable {
  /// The most bytes of a form.
  public static let longestForm = 4_096
  /// The most bytes of an address.
  static let longestTarget = 2_048
  /// How long a visitor waits until a migration obeys a request.
  private static let patience = Duration.seconds(5)

  private let access: SiteAccess
  private let board: MigrationBoard
  private let list: MigrationList
  private let allowsControl: Bool

  /// Shows migrations in folders.
  ///
  /// - Parameter allowsControl: whether visitors may send requests.
  init(_ folders: [FilePath], access: SiteAccess, allowsControl: Bool) {
    self.access = access
    self.allowsControl = allowsControl
    board = MigrationBoard(folders, key: allowsControl ? access.key : nil)
    list = MigrationList(board, folders: folders)
  }

  /// Refuses what is no folder before anything is shown of it.
  ///
  /// - Throws: `MigrationFailure`, if one is not there or is a file.
  static func require(folders: [FilePath]) throws {
    for folder in folders {
      do {
        if try Files.fileStatus(folder).isDirectory { continue }
      } catch {
        throw MigrationFailure(error)
      }
      throw MigrationFailure(.usage, "\(folder) is not a folder: name the folder that contains it.")
    }
  }

  /// Keeps itself up to date until it is cancelled.
  public func run() async { await board.refreshUntilCancelled() }

  /// Looks through the folders once.
  func refresh() async { await board.refresh() }

  /// Answers a request.
  public func answer(_ request: SiteRequest) async -> SiteAnswer {
    guard access.knows(host: request.host) else {
      return .sentence(
        403,
        "403: this server has another name. Use its address, or start it with --host and this "
          + "name.")
    }
    guard request.target.utf8.count <= Self.longestTarget else {
      return .sentence(414, "414: the address is too long.")
    }
    let address = SiteAddress(request.path)
    // A monitor of servers may check whether this one lives.
    let entrance = address == .health ? .open : access.entrance(request)
    if entrance == .refused {
      return .sentence(
        401, "401: a token is needed: open the address that the server printed at its start.",
        headers: [("WWW-Authenticate", "Bearer")])
    }
    guard let address else { return .sentence(404, "404: there is no such page.") }
    let isReading = request.method == "GET" || request.method == "HEAD"
    guard address.takesForms ? request.method == "POST" : isReading else {
      let methods = address.takesForms ? "POST" : "GET, HEAD"
      return .sentence(405, "405: this page allows \(methods).", headers: [("Allow", methods)])
    }
    if entrance == .address {
      return .goTo(address, headers: [access.rememberingCookie])
    }
    if case .request(let id, let wish) = address {
      return await ask(id, wish, request, by: entrance)
    }
    return await show(address)
  }

  private func show(_ address: SiteAddress) async -> SiteAnswer {
    switch address {
    case .list: await listPage
    case .listEvents: SiteAnswer(EventFeed(.list(list)))
    case .metrics: await metrics
    case .health: .sentence(200, "ok")
    case .style: SiteAnswer(200, "text/css; charset=utf-8", LivePage.style)
    case .script: SiteAnswer(200, "text/javascript; charset=utf-8", LivePage.script)
    case .icon: SiteAnswer(200, "image/svg+xml", LivePage.icon)
    case .fleet(let id), .fleetEvents(let id), .store(let id, _), .storeEvents(let id, _):
      if let fleet = await board.fleet(id) {
        await show(address, of: fleet)
      } else {
        Self.unknown
      }
    case .migration(let id), .migrationEvents(let id), .request(let id, _):
      if let migration = await board.migration(id) {
        if case .migrationEvents = address {
          SiteAnswer(EventFeed(.migration(migration)))
        } else {
          await page(of: migration)
        }
      } else {
        Self.unknown
      }
    }
  }

  private static let unknown = SiteAnswer.sentence(
    404, "404: this migration or fleet is no longer known.")

  private func show(_ address: SiteAddress, of fleet: WatchedFleet) async -> SiteAnswer {
    switch address {
    case .fleetEvents: return SiteAnswer(EventFeed(.fleet(fleet)))
    case .store(_, let number), .storeEvents(_, let number):
      guard await fleet.hasStore(number) else {
        return .sentence(404, "404: the fleet has no such store.")
      }
      if case .storeEvents = address { return SiteAnswer(EventFeed(.store(fleet, number))) }
      return page(
        await fleet.view(ofStore: number), events: .storeEvents(fleet.id, number))
    default: return page(await fleet.view(), events: .fleetEvents(fleet.id))
    }
  }

  private func page(_ view: WatchedFleet.View, events: SiteAddress) -> SiteAnswer {
    html(
      LivePage(
        generator: ToolProcess.version, windowTitle: view.windowTitle, heading: view.heading,
        events: events.path, hasList: true, parts: view.parts))
  }

  private var listPage: SiteAnswer {
    get async {
      let view = await list.view()
      return html(
        LivePage(
          generator: ToolProcess.version, windowTitle: view.windowTitle, heading: "Migrations",
          events: SiteAddress.listEvents.path, hasList: false, parts: view.parts))
    }
  }

  private func page(of migration: WatchedMigration) async -> SiteAnswer {
    let view = await migration.view()
    return html(
      LivePage(
        generator: ToolProcess.version, windowTitle: view.windowTitle, heading: view.heading,
        events: SiteAddress.migrationEvents(migration.id).path, hasList: true, parts: view.parts))
  }

  private func html(_ page: LivePage) -> SiteAnswer {
    SiteAnswer(200, "text/html; charset=utf-8", page.html)
  }

  private var metrics: SiteAnswer {
    get async {
      var known: [(status: MigrationMonitor.Status, path: FilePath)] = []
      for migration in await board.all {
        known.append((await migration.status, await migration.path))
      }
      var fleets: [StoreFleet.Status] = []
      for fleet in await board.fleets { fleets += [await fleet.status()].compactMap(\.self) }
      let text = MigrationMetrics(known).text + FleetMetrics(fleets).text
      return SiteAnswer(200, "text/plain; version=0.0.4; charset=utf-8", text)
    }
  }

  // MARK: Requests

  private func ask(
    _ id: String, _ wish: ControlRequest, _ request: SiteRequest, by entrance: SiteAccess.Entrance
  ) async -> SiteAnswer {
    guard allowsControl else {
      return .sentence(
        403,
        "403: this server is read-only. Start it with --control to allow "
          + "requests.")
    }
    let form = FormFields(request.body)
    guard access.isOwn(request, by: entrance, key: form["key"]) else {
      return .sentence(
        403,
        "403: this request does not come from a page of this server: reload "
          + "the page.")
    }
    guard let migration = await board.migration(id) else { return Self.unknown }
    let control = MigrationControl(await migration.path)
    do {
      let answer = try await carryOut(wish, form, control)
      await migration.observe(answer.status)
      let text = StatusText(path: control.path, status: answer.status)
      if request.accept?.contains("text/html") == true { return .goTo(.migration(id)) }
      // The page has the state, and what to do, already.
      if answer.isDone, wish == .cancel { return .sentence(200, "Cancelled.") }
      return answer.isDone
        ? .sentence(200, "Done: \(text.headline)")
        : .sentence(202, "Requested, but not done yet: \(text.headline)")
    } catch {
      let failure = MigrationFailure(error)
      let status = failure.exitStatus == .usage ? 400 : 409
      return .sentence(status, "\(status): \(failure.sentences.joined(separator: " "))")
    }
  }

  private func carryOut(
    _ wish: ControlRequest, _ form: FormFields, _ control: MigrationControl
  ) async throws -> MigrationControl.Answer {
    switch wish {
    case .pause: return try await control.pause(within: Self.patience)
    case .resume: return try await control.resume(within: Self.patience)
    case .cancel: return try await control.cancel(within: Self.patience)
    case .workers:
      guard let number = form["workers"].flatMap({ Int($0) }) else {
        throw MigrationFailure(.usage, "a migration runs 1 to 256 workers.")
      }
      return try await control.set(workers: number, within: Self.patience)
    case .rate:
      guard let rate = form["rate"].flatMap({ MigrationControl.Rate(argument: $0) }) else {
        throw MigrationFailure(.usage, "a rate is a number of bytes, such as 50M; 0 has no limit.")
      }
      return try await control.set(rate: rate, within: Self.patience)
    }
  }
}
