import Godwit
import Mapping

/// Options and commands as the command line has them.
struct CommandLineWords: AdviceWords {
  func option(_ option: MigrationOption, _ value: String?) -> String {
    let word = option.flag
    return value.map { "\(word) \(MigrationSuggestion.text([$0]))" } ?? word
  }

  func value(_ value: String) -> String { value }

  func command(_ command: AdvisedCommand) -> String {
    switch command {
    case .check: "`check --migrate`"
    case .checkVersions: "`godwit versions check --since REVISION`"
    case .createFleet: "`godwit fleet create`"
    case .discard: "`godwit discard`"
    case .draftMapping: "`godwit map --from OLD --to NEW --output FILE.json`"
    case .exportModel: "`godwit model export`"
    case .list(let store): "`godwit list \(store)`"
    case .lockVersions: "`godwit versions lock`"
    case .restore(let store, let kept): "`godwit rollback \(store) --kept \(kept)`"
    case .rollback(let store): "`godwit rollback \(store)`"
    case .receipt: "`migrate --receipt`"
    case .runFleet(let fleet?): "`godwit fleet run \(fleet)`"
    case .runFleet(nil): "`godwit fleet run`"
    case .salvage: "`migrate --salvage`"
    case .status: "`godwit status`"
    case .verify: "`godwit verify`"
    case .verifyReceipt: "`godwit verify --receipt`"
    }
  }
}
