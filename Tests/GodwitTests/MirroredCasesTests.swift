import MigrationCoordinator
import MigrationStatus
import ObjectMigration
import ObjectModel
import Schema
import StoreNames
import Survey
import Testing

@testable import Godwit

@Suite struct MirroredCasesTests {
  private func names<Cases: CaseIterable & RawRepresentable<String>>(_: Cases.Type) -> Set<String> {
    Set(Cases.allCases.map(\.rawValue))
  }

  @Test func `each enumeration of the library has the cases of the internal one`() {
    #expect(names(StoreMigration.Loss.Kind.self) == names(Loss.Kind.self))
    #expect(names(StoreMigration.Defect.Kind.self) == names(Defect.Kind.self))
    #expect(names(StoreMigration.Defect.Fate.self) == names(Defect.Fate.self))
    #expect(names(StoreMigration.DuplicateChoice.self) == names(DefectChoices.Duplicates.self))
    #expect(names(StoreMigration.DanglingChoice.self) == names(DefectChoices.Dangling.self))
    #expect(names(StoreMigration.ValueChoice.self) == names(DefectChoices.Values.self))
    #expect(names(StoreMigration.ManyChoice.self) == names(DefectChoices.Many.self))
    #expect(names(StoreMigration.MissingChoice.self) == names(DefectChoices.Missing.self))
    #expect(names(StoreMigration.ExtraTableChoice.self) == names(ResultRules.ExtraTables.self))
    #expect(names(StoreMigration.CloudKitChoice.self) == names(ResultRules.CloudKit.self))
    #expect(names(StoreMigration.HistoryChoice.self) == names(ResultRules.History.self))
    #expect(names(StoreMigration.Validation.self) == names(ValidationMode.self))
    #expect(names(StoreMigration.SourceCheck.self) == names(Survey.SourceCheck.self))
    // A migration with a result was neither refused nor ended before.
    #expect(
      names(StoreMigration.Result.Outcome.self).union(["refused", "failed", "interrupted"])
        == names(MigrationReport.Outcome.self))
    #expect(names(StoreMigration.Violation.Rule.self) == names(ObjectModel.Violation.Rule.self))
    #expect(names(MigrationMonitor.State.self) == names(MigrationState.self))
    #expect(names(MigratedStore.Contents.KeptStore.Kind.self) == names(KeptStoreKind.self))
    typealias Shown = MigratedStore.Contents
    #expect(names(Shown.KeptStore.State.self) == names(StoreUpkeep.Contents.Kept.State.self))
    #expect(names(Shown.Work.State.self) == names(StoreUpkeep.Contents.Work.State.self))
  }
}
