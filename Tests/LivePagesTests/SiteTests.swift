import Foundation
import Godwit
import MigrationStatus
import SystemPackage
import Testing

@testable import LivePages

@Suite struct SiteTests {
  private static let hostile = "a\"b'<script>alert(1)<b x>&\u{1B}[2J.sqlite"

  /// Records beside stores that are not there.
  private struct Ground {
    let folder: ScratchFolder
    let site: LiveSite
    let access: SiteAccess

    init(token: AccessToken? = nil, allowsControl: Bool = false) throws {
      folder = try ScratchFolder()
      access = SiteAccess(token: token, hosts: [], port: 80)
      site = LiveSite([folder.path], access: access, allowsControl: allowsControl)
    }

    @discardableResult
    func record(
      _ name: String, destination: String? = nil, exitStatus: Int32? = nil,
      sentences: [String] = []
    ) throws -> String {
      let source = folder.path.appending(name)
      let made = destination.map { folder.path.appending($0) } ?? source
      var record = OutcomeRecord(
        run: .random(), source: source, destination: made, work: FilePath("\(made).godwit"))
      if let exitStatus { record.end(exitStatus: exitStatus, sentences: sentences) }
      for store in Set([source, made]) {
        try OutcomeFile(beside: store).write(record, mode: .ownerReadWrite)
      }
      return MigrationIdentifier.of(made)
    }

    func get(
      _ target: String, _ method: String = "GET", _ change: (inout SiteRequest) -> Void = { _ in }
    ) async -> SiteAnswer {
      var request = SiteRequest(method, target)
      request.host = "localhost:80"
      change(&request)
      return await site.answer(request)
    }

    func text(_ target: String) async -> String {
      guard case .text(let text) = await get(target).body else { return "" }
      return text
    }
  }

  @Test func `migrations are listed once, with their states`() async throws {
    let ground = try Ground()
    let id = try ground.record("Old.sqlite", destination: "New.sqlite", exitStatus: 0)
    try ground.record("Broken.sqlite", exitStatus: 74, sentences: ["No room."])
    await ground.site.refresh()
    let list = await ground.text("/")
    #expect(list.contains("2 migrations in"))
    #expect(list.contains("<a href=\"/m/\(id)\">New.sqlite</a>"))
    #expect(!list.contains(">Old.sqlite</a>"))
    #expect(list.contains(">failed</strong>") && list.contains("No room."))
    let page = await ground.text("/m/\(id)")
    #expect(page.contains(">done</strong>"))
    #expect(page.contains("from \(ground.folder.path)/Old.sqlite"))
  }

  @Test func `names from files are no markup`() async throws {
    let ground = try Ground()
    let id = try ground.record(Self.hostile, exitStatus: 74, sentences: [Self.hostile])
    await ground.site.refresh()
    for page in [await ground.text("/"), await ground.text("/m/\(id)")] {
      #expect(page.contains("&lt;script&gt;alert(1)"))
      #expect(!page.contains("<script>") && !page.contains("\u{1B}"))
    }
    let metrics = await ground.text("/metrics")
    #expect(metrics.contains("a\\\"b'<script>") && !metrics.contains("\u{1B}"))
  }

  @Test func `metrics have one help for all migrations`() async throws {
    let ground = try Ground()
    try ground.record("A.sqlite", destination: "B.sqlite", exitStatus: 0)
    try ground.record("A.sqlite", destination: "C.sqlite", exitStatus: 74)
    await ground.site.refresh()
    let lines = await ground.text("/metrics").split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("# HELP godwit_migration_state ") } == 1)
    let done = lines.filter { $0.hasPrefix("godwit_migration_state{") && $0.hasSuffix(" 1") }
    #expect(done.count == 2 && Set(done).count == 2)
    #expect(done.allSatisfy { $0.contains("store=") && $0.contains("destination=") })
  }

  @Test func `every answer keeps browsers from running what is not ours`() async throws {
    let ground = try Ground()
    for target in ["/", "/metrics", "/healthz", "/none", "/live.js", "/events"] {
      let answer = await ground.get(target)
      let headers = Dictionary(uniqueKeysWithValues: answer.headers.map { ($0.name, $0.value) })
      #expect(headers["Content-Security-Policy"]?.hasPrefix("default-src 'none'; ") == true)
      #expect(headers["Content-Security-Policy"]?.contains("unsafe") == false)
      #expect(headers["X-Content-Type-Options"] == "nosniff")
      #expect(headers["Cache-Control"] == "no-store")
      #expect(headers["Referrer-Policy"] == "same-origin")
    }
    #expect(await ground.text("/healthz") == "ok\n")
  }

  @Test func `foreign names, odd paths and other methods are refused`() async throws {
    let ground = try Ground()
    let id = try ground.record("A.sqlite", exitStatus: 0)
    await ground.site.refresh()
    #expect(await ground.get("/") { $0.host = "evil.example" }.status == 403)
    #expect(await ground.get("/healthz") { $0.host = nil }.status == 403)
    #expect(await ground.get("/m/..%2f..").status == 404)
    #expect(await ground.get("/m/\(String(repeating: "0", count: 24))").status == 404)
    #expect(await ground.get("/m/\(id)").status == 200)
    #expect(await ground.get("/m/\(id)", "HEAD").status == 200)
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"] {
      let answer = await ground.get("/m/\(id)", method)
      #expect(answer.status == 405)
      #expect(answer.headers.contains { $0.name == "Allow" && $0.value == "GET, HEAD" })
    }
    #expect(await ground.get("/m/\(id)/pause").status == 405)
    #expect(await ground.get("/" + String(repeating: "a", count: 3_000)).status == 414)
  }

  @Test func `without its token a site tells nothing but that it lives`() async throws {
    let token = AccessToken()
    let ground = try Ground(token: token)
    for target in ["/", "/metrics", "/events", "/live.js", "/none", "/?token=0"] {
      #expect(await ground.get(target).status == 401)
    }
    #expect(await ground.get("/healthz").status == 200)
    let answer = await ground.get("/?token=\(token.text)")
    #expect(answer.status == 303)
    #expect(answer.headers.contains { $0.name == "Location" && $0.value == "/" })
    #expect(answer.headers.contains { $0.name == "Set-Cookie" })
    #expect(await ground.get("//evil.example/?token=\(token.text)").status == 404)
    #expect(await ground.get("/") { $0.cookie = "godwit-80=\(token.text)" }.status == 200)
  }

  @Test func `nobody controls anything where that was not allowed`() async throws {
    let ground = try Ground()
    let id = try ground.record("A.sqlite")
    await ground.site.refresh()
    let page = await ground.text("/m/\(id)")
    #expect(!page.contains("<form") && !page.contains("<button"))
    let answer = await ground.get("/m/\(id)/pause", "POST") {
      $0.origin = "http://localhost:80"
      $0.body = "key=\(ground.access.key)"
    }
    #expect(answer.status == 403)
  }

  @Test func `a request that names no page of the site is refused, and one to nobody fails`()
    async throws
  {
    let token = AccessToken()
    let ground = try Ground(token: token, allowsControl: true)
    let id = try ground.record("A.sqlite", exitStatus: 0)
    await ground.site.refresh()
    func ask(_ target: String, _ change: (inout SiteRequest) -> Void) async -> Int {
      await ground.get(target, "POST") {
        $0.cookie = "godwit-80=\(token.text)"
        $0.origin = "http://localhost:80"
        $0.body = "key=\(ground.access.key)&workers=x&rate=50M"
        change(&$0)
      }.status
    }
    #expect(await ask("/m/\(id)/pause") { $0.body = "" } == 403)
    #expect(await ask("/m/\(id)/pause") { $0.origin = "http://evil.example" } == 403)
    #expect(await ask("/m/\(id)/pause") { $0.origin = nil } == 403)
    #expect(await ask("/m/\(id)/pause") { $0.cookie = nil } == 401)
    #expect(await ask("/m/\(id)/workers") { _ in } == 400)
    // It has ended: nobody is there to be paused.
    #expect(await ask("/m/\(id)/pause") { _ in } == 409)
    #expect(await ask("/m/\(String(repeating: "0", count: 24))/pause") { _ in } == 404)
  }

  @Test func `a migration that ended ends its stream, and the list goes on`() async throws {
    let ground = try Ground()
    let id = try ground.record("A.sqlite", exitStatus: 0)
    await ground.site.refresh()
    guard case .events(var feed) = await ground.get("/m/\(id)/events").body else {
      Issue.record("no events")
      return
    }
    let text = await feed.text(at: .now) ?? ""
    #expect(text.hasPrefix("retry: 2000\n\nid: 1\ndata: {"))
    #expect(text.contains("event: page\n") && text.contains("event: over\n"))
    #expect(feed.isOver)
    guard case .events(var list) = await ground.get("/events").body else {
      Issue.record("no events")
      return
    }
    let start = ContinuousClock.now
    #expect(await list.text(at: start)?.contains("event: page\n") == true)
    #expect(await list.text(at: start + .seconds(1)) == nil)
    #expect(await list.text(at: start + .seconds(6)) == ServerSentEvent.heartbeat)
    #expect(!list.isOver)
    try ground.record("B.sqlite", exitStatus: 0)
    await ground.site.refresh()
    #expect(await list.text(at: start + .seconds(7))?.contains("B.sqlite") == true)
  }

  @Test func `the page of an interrupted migration says once how it goes on`() async throws {
    let ground = try Ground()
    let goesOn = "start the same command again to resume"
    let id = try ground.record(
      "A.sqlite", exitStatus: 75, sentences: ["interrupted: \(goesOn)."])
    await ground.site.refresh()
    #expect(await ground.text("/m/\(id)").components(separatedBy: goesOn).count == 2)
  }

  @Test func `a visitor is told only what changed, and latecomers everything`() async throws {
    let ground = try Ground(allowsControl: true)
    let id = try ground.record("A.sqlite")
    await ground.site.refresh()
    guard case .events(var early) = await ground.get("/m/\(id)/events").body else {
      Issue.record("no events")
      return
    }
    #expect(await early.text(at: .now)?.contains("running") == true)
    try ground.record("A.sqlite", exitStatus: 75)
    var news: String?
    for _ in 0..<100 where news == nil {
      try await Task.sleep(for: .milliseconds(50))
      await ground.site.refresh()
      news = await early.text(at: .now)
    }
    #expect(news?.contains("interrupted") == true)
    #expect(news?.contains("\"figures\"") == false)
    guard case .events(var late) = await ground.get("/m/\(id)/events").body else {
      Issue.record("no events")
      return
    }
    #expect(await late.text(at: .now)?.contains("\"workers\"") == true)
  }
}
