import StoreNames
import Testing

@Suite struct KeptNameTests {
  @Test func `a name that Godwit gives is read as it was made`() {
    let time = "20261231-235959"
    for store in ["Shop.sqlite", "Büro", "a.b.c", "Shop.sqlite.before-\(time)", ".hidden"] {
      for kind in KeptStoreKind.allCases {
        for number in [1, 2, 17] {
          for isUndo in kind == .before ? [false, true] : [false] {
            let name = KeptName(
              store: store, kind: kind, time: time, number: number, isUndo: isUndo)
            #expect(KeptName(name.text) == name, "\(name.text)")
          }
        }
      }
    }
    #expect(
      KeptName(store: "S", kind: .before, time: time, number: 2, isUndo: true).text
        == "S.before-\(time).2.undo")
  }

  @Test(arguments: [
    "Shop.sqlite", "Shop.sqlite.before-lunch", "Shop.sqlite.before-lunch.undo", "Shop.undo",
    "Shop.sqlite.before-20261231-235959.1", "Shop.sqlite.before-20261231-235959.02",
    "Shop.sqlite.before-20261231-235959.+2", "Shop.sqlite.before-20261231-235959.-2",
    "Shop.sqlite.before-20261231-235959.x", "Shop.sqlite.before-20261231-235959.2.3",
    "Shop.sqlite.before-20261231-235959.undo.2", "Shop.sqlite.before-20261231-235959.undo.undo",
    "Shop.sqlite.after-20261231-235959.undo", "Shop.sqlite.before-20261231235959x",
    "Shop.sqlite.before-2026123１-235959", ".before-20261231-235959", "before-20261231-235959",
    "Shop.sqlite.before-20261231-235959-wal", "",
  ])
  func `any other name is somebody's own`(name: String) {
    #expect(KeptName(name) == nil)
  }
}
