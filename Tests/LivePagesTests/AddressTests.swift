import SystemPackage
import Testing

@testable import LivePages

@Suite struct AddressTests {
  private static let id = MigrationIdentifier.of("/data/Shop.sqlite")

  @Test func `each address leads to itself`() {
    let all: [SiteAddress] =
      [
        .list, .listEvents, .metrics, .health, .style, .script, .icon, .migration(Self.id),
        .migrationEvents(Self.id), .fleet(Self.id), .fleetEvents(Self.id), .store(Self.id, 0),
        .storeEvents(Self.id, 12_345_678),
      ] + ControlRequest.allCases.map { .request(Self.id, $0) }
    for address in all { #expect(SiteAddress(address.path) == address) }
    #expect(Set(all.map(\.path)).count == all.count)
  }

  @Test(arguments: [
    "", "//", "/m", "/m/", "/m//", "/m/..", "/m/..%2f..", "/m/%2e%2e/etc/passwd", "/m/../../etc",
    "/m/ID/", "/m/ID/events/", "/m/ID/delete", "/m/ID/pause/x", "/M/ID", "/m/ID%00", "/m/ID\u{0}",
    "/f", "/f/", "/f/..", "/f/ID/", "/f/ID/-1", "/f/ID/+1", "/f/ID/01", "/f/ID/1/", "/f/ID/1/2",
    "/f/ID/99999999999999999999", "/f/ID/events/events", "/f/ID/1/events/", "/x/ID",
    "//m/ID", "/metrics/", "/events/../m", "http://evil.example/", "*", "/static/../../token",
    "/m/\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}\u{661}",
  ])
  func `whatever is no address names nothing`(path: String) {
    #expect(SiteAddress(path.replacing("ID", with: Self.id)) == nil)
  }

  @Test func `an identifier has only lower case digits, as many as there are`() {
    #expect(MigrationIdentifier.isOne(Self.id))
    #expect(!MigrationIdentifier.isOne(Self.id.uppercased()))
    #expect(!MigrationIdentifier.isOne(String(Self.id.dropLast())))
    #expect(!MigrationIdentifier.isOne(Self.id + "0"))
    #expect(Self.id != MigrationIdentifier.of("/data/Shop.sqlite2"))
    #expect(!Self.id.contains("Shop"))
  }

  @Test func `fields of forms are decoded once, and the first of a name counts`() {
    let form = FormFields("rate=50%4D&workers=2&rate=0&a=b%3Dc+d&bad=%zz&empty=&alone")
    #expect(form["rate"] == "50M")
    #expect(form["workers"] == "2")
    #expect(form["a"] == "b=c d")
    #expect(form["bad"] == nil)
    #expect(form["empty"] == "")
    #expect(form["alone"] == "")
    #expect(FormFields("x=%2541")["x"] == "%41")
    #expect(SiteRequest("GET", "/m?token=a?b").parameter("token") == "a?b")
    #expect(SiteRequest("GET", "/m").parameter("token") == nil)
  }

  @Test func `no data end a line of an event`() {
    let event = ServerSentEvent(name: "page", data: "a\nid: 9\r\nb\u{2028}c\u{85}d\re")
    #expect(
      event.text(id: 3)
        == "id: 3\nevent: page\ndata: a\ndata: id: 9\ndata: b\ndata: c\ndata: d\ndata: e\n\n")
    #expect(ServerSentEvent(name: nil, data: "").text(id: 1) == "id: 1\ndata: \n\n")
  }
}
