import ObjectMigration
import StoreFormat
import SystemPackage
import Testing

@testable import MigrationCoordinator

@Suite struct StatedChoicesTests {
  private static func request() -> MigrationRequest {
    MigrationRequest(store: "Old.sqlite", target: [], workers: 1, memory: 64 << 20)
  }

  /// Each choice about defects by itself, other than the one that is made anyway.
  private static var defects: [DefectChoices] {
    var result: [DefectChoices] = []
    func note(_ change: (inout DefectChoices) -> Void) {
      var choices = DefectChoices()
      change(&choices)
      if choices != DefectChoices() { result.append(choices) }
    }
    for choice in DefectChoices.Duplicates.allCases { note { $0.duplicates = choice } }
    for choice in DefectChoices.Dangling.allCases { note { $0.dangling = choice } }
    for choice in DefectChoices.Values.allCases { note { $0.values = choice } }
    return result
  }

  @Test func `choices that a record states are taken back as they were`() {
    for choices in Self.defects {
      var made = Self.request()
      made.defectChoices = choices
      #expect(made.statedChoices.count == 1)
      var taken = Self.request()
      #expect(taken.take(stated: made.statedChoices) == [])
      #expect(taken.defectChoices == choices)
    }
    var made = Self.request()
    made.history = .drop
    made.cloudKit = .carry
    made.extraTables = .keep
    made.salvages = true
    made.journalMode = .delete
    made.validation = .report
    made.lossConsent = .some(["Note.pages", "Tag"])
    #expect(made.statedChoices["--allow-loss"] == "Note.pages,Tag")
    var taken = Self.request()
    #expect(taken.take(stated: made.statedChoices) == [])
    #expect(taken.history == .drop && taken.cloudKit == .carry && taken.extraTables == .keep)
    #expect(taken.salvages && taken.journalMode == .delete && taken.validation == .report)
  }

  @Test func `what a caller chooses comes before a record, and unknown choices are told`() {
    var asked = Self.request()
    asked.defectChoices.duplicates = .keepLast
    let unknown = asked.take(
      stated: ["--on-duplicate": "keep-first", "--on-weather": "rain", "--on-value": "paint"])
    #expect(asked.defectChoices.duplicates == .keepLast)
    #expect(unknown == ["--on-value paint", "--on-weather rain"])
  }
}
