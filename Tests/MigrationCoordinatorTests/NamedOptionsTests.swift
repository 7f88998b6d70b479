import Mapping
import ObjectMigration
import Planning
import Testing

@testable import MigrationCoordinator

struct NamedOptionsTests {
  /// Rules of which each option differs from the default.
  private static let rules = {
    var rules = ResultRules()
    rules.validation = .off
    rules.settings = ["Note.text='x'", "Note.pages=1"]
    rules.joinTables = ["Note.tags"]
    rules.defectChoices.duplicates = .keepFirst
    rules.defectChoices.dangling = .nullify
    rules.defectChoices.values = .null
    rules.defectChoices.missing = .drop
    rules.defectChoices.many = .first
    rules.salvages = true
    rules.history = .drop
    rules.cloudKit = .carry
    rules.extraTables = .keep
    rules.givesNewUUID = true
    return rules
  }()

  private static let words = [
    "--validation": "off", "--set": "Note.text='x' Note.pages=1", "--join-table": "Note.tags",
    "--on-duplicate": "keep-first", "--on-dangling": "nullify", "--on-value": "null",
    "--on-missing": "drop", "--on-many": "first", "--salvage": "", "--history": "drop",
    "--cloudkit": "carry", "--extra-tables": "keep", "--new-uuid": "",
  ]

  @Test func `each rule is an option under the tool's name`() {
    let given = NamedOptions(Self.rules).differing(from: NamedOptions(ResultRules()))
    #expect(given.mapValues(\.text) == Self.words)
    #expect(given.count == NamedOptions(ResultRules()).all.count)
  }

  @Test func `rules are taken from options one by one`() {
    var options = NamedOptions(ResultRules())
    for (option, word) in Self.words where !["--set", "--join-table"].contains(option) {
      let isSet = options.set(option, to: word)
      #expect(isSet, "\(option)")
    }
    var expected = Self.rules
    (expected.settings, expected.joinTables) = ([], [])
    #expect(options.rules() == expected)
  }

  @Test(arguments: [("--history", "sometimes"), ("--on-value", ""), ("--validation", "OFF")])
  func `a word that an option does not have makes no rules`(option: String, word: String) {
    var options = NamedOptions(ResultRules())
    let isSet = options.set(option, to: word)
    #expect(isSet && options.rules(ResultRules.self) == nil)
  }

  @Test(arguments: ["--engine", "--on", "--on-", "history", "--set", ""])
  func `what is no option with a word is not set`(option: String) {
    var options = NamedOptions(ResultRules())
    let isSet = options.set(option, to: "keep")
    #expect(!isSet && options.rules() == ResultRules())
  }

  @Test func `every rule is an option`() {
    let names = NamedOptions(ResultRules()).all.keys
    let unknown = names.filter { MigrationOption(rawValue: String($0.dropFirst(2))) == nil }
    #expect(unknown == [])
    var division = DivisionRules()
    (division.isStepwise, division.usesLauncher) = (true, true)
    (division.engine, division.rangeRows) = (.pages, 10)
    let found = RunDifference.options(
      of: division, earlier: DivisionRules(), default: DivisionRules())
    #expect(found.count == 4)
  }

  @Test func `rules differ by option, with what was given before`() {
    var earlier = Self.rules
    earlier.history = .keep
    let found = RunDifference.options(
      of: ResultRules(), earlier: earlier, default: ResultRules())
    #expect(found.count == Self.words.count - 1)
    #expect(found.contains(.option(.salvage, earlier: "yes")))
    #expect(found.contains(.option(.onDangling, earlier: "nullify")))
    #expect(
      RunDifference.options(of: Self.rules, earlier: earlier, default: ResultRules())
        == [.option(.history, earlier: "")])
    var division = DivisionRules()
    division.rangeRows = 10
    #expect(
      RunDifference.options(of: DivisionRules(), earlier: division, default: DivisionRules())
        == [.option(.rangeRows, earlier: "10")])
  }
}
