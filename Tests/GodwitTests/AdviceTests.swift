import Mapping
import SystemPackage
import Testing

@testable import Godwit

@Suite struct AdviceTests {
  @Test func `the library names its own declarations`() {
    #expect("\(choice: .onDuplicate(.keepFirst))" == "choices.duplicates = .keepFirst")
    #expect("\(option: .allowLoss, "Book.isbn")" == "choices.allowedLoss = [\"Book.isbn\"]")
    #expect("\(value: StoreMigration.DuplicateChoice.keepLast)" == ".keepLast")
  }

  @Test func `every property that advice names exists`() {
    let migration = StoreMigration(store: "Shop.sqlite", to: "Shop.momd")
    var known: Set<String> = []
    for child in Mirror(reflecting: migration).children {
      guard let label = child.label else { continue }
      known.insert(label)
      for inner in Mirror(reflecting: child.value).children {
        if let name = inner.label { known.insert("\(label).\(name)") }
      }
    }
    let others: Set<MigrationOption> = [
      .accept, .elements, .entity, .graph, .json, .label, .leaveOut, .limit, .print,
    ]
    let names = MigrationOption.allCases.filter { !others.contains($0) }.map { "\(option: $0)" }
    #expect(names.filter { !known.contains($0) } == [])
  }

  @Test func `no flags stand in the reasons of the library`() {
    let refusals = [
      Condition.Demand.unique(properties: ["name"]), .noMissingReferences(before: nil),
    ].map {
      Refusal(
        reason: .condition($0, count: 2, keys: [1, 2]), entity: "Book", property: "author")
    }
    for refusal in refusals { #expect(!refusal.sentence.contains("--"), "\(refusal.sentence)") }
  }

  @Test func `whoever has other words gives them`() {
    struct Loud: AdviceWords {
      func option(_ option: MigrationOption, _ value: String?) -> String { "OPTION" }
      func value(_ value: String) -> String { value }
      func command(_ command: AdvisedCommand) -> String { "COMMAND" }
    }
    Advice.$words.withValue(Loud()) {
      #expect("\(option: .models) \(command: .verify)" == "OPTION COMMAND")
    }
    #expect("\(option: .models)" == "models")
  }
}
