import Godwit
import Mapping
import Testing

@testable import GodwitTool

@Suite struct CommandLineWordsTests {
  private let words = CommandLineWords()

  @Test func `every option that sentences name is one of a command`() {
    let known = RootCommand.names.values.reduce(into: Set<String>()) { $0.formUnion($1) }
    let named = MigrationOption.allCases.map { words.option($0, nil) }
    #expect(named.filter { !known.contains($0) } == [])
    #expect(Set(named).count == named.count)
  }

  @Test func `a value is quoted as a shell needs it`() {
    #expect(words.option(.onValue, "null") == "--on-value null")
    #expect(words.option(.set, "Item.id=uuid()") == "--set 'Item.id=uuid()'")
    #expect(words.option(.allowLoss, "Book.isbn") == "--allow-loss Book.isbn")
  }
}
