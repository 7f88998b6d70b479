import Testing

@testable import GodwitTool

@Suite struct TypedPathsTests {
  @Test(arguments: [
    ("/data/Shop.sqlite: 3 rows.", "Shop.sqlite: 3 rows."),
    ("kept as /data/Shop.sqlite.before-1.", "kept as Shop.sqlite.before-1."),
    ("'/data/Shop.sqlite' and (/data/Shop.sqlite)", "'Shop.sqlite' and (Shop.sqlite)"),
    ("/data/Other.sqlite", "/data/Other.sqlite"),
    ("/mnt/data/Shop.sqlite, x/data/Shop.sqlite", "/mnt/data/Shop.sqlite, x/data/Shop.sqlite"),
    ("/data/out/New.sqlite", "../out/New.sqlite"),
    ("--to=/data/out", "--to=../out"),
    ("", ""),
  ])
  func `sentences name files as they were typed`(text: String, shown: String) {
    var paths = TypedPaths()
    paths.add("/data/Shop.sqlite", typed: "Shop.sqlite")
    paths.add("/data/out", typed: "../out/")
    paths.add("/", typed: ".")
    #expect(paths.applied(to: text) == shown)
  }

  @Test func `files next to the target of a link have the target's name`() {
    var paths = TypedPaths()
    paths.add("/data/Shop.sqlite", typed: "link.sqlite", isLink: true)
    #expect(
      paths.applied(to: "/data/Shop.sqlite is kept as /data/Shop.sqlite.before-1.")
        == "link.sqlite is kept as /data/Shop.sqlite.before-1.")
    #expect(paths.applied(to: "in use: /data/Shop.sqlite.") == "in use: link.sqlite.")
  }
}
