import Godwit
import Mapping

/// Options and commands as the command line has them.
struct CommandLineWords: AdviceWords {
  func option(_ option: MigrationOption, _ value: String?) -> String {
    let word = "--\(name(option))"
    return value.map { "\(word) \(MigrationSuggestion.text([$0]))" } ?? word
  }

  func option(named name: String) -> String { "--\(name)" }

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
    case .receipt: "`migrate --receipt`"
    case .runFleet(let fleet?): "`godwit fleet run \(fleet)`"
    case .runFleet(nil): "`godwit fleet run`"
    case .salvage: "`migrate --salvage`"
    case .status: "`godwit status`"
    case .verify: "`godwit verify`"
    case .verifyReceipt: "`godwit verify --receipt`"
    }
  }

  private func name(_ option: MigrationOption) -> String {
    switch option {
    case .accept: "accept"
    case .allowLoss: "allow-loss"
    case .checkSource: "check-source"
    case .cloudKit: "cloudkit"
    case .discardOld: "discard-old"
    case .elements: "elements"
    case .engine: "engine"
    case .entity: "entity"
    case .extraTables: "extra-tables"
    case .failOnLoss: "fail-on-loss"
    case .graph: "graph"
    case .history: "history"
    case .inferOnly: "infer-only"
    case .joinTable: "join-table"
    case .json: "json"
    case .label: "label"
    case .leaveOut: "leave-out"
    case .limit: "limit"
    case .mapping: "mapping"
    case .memory: "memory"
    case .models: "models"
    case .newUUID: "new-uuid"
    case .noInfer: "no-infer"
    case .noRecord: "no-record"
    case .onDangling: "on-dangling"
    case .onDuplicate: "on-duplicate"
    case .onMany: "on-many"
    case .onMissing: "on-missing"
    case .onValue: "on-value"
    case .order: "order"
    case .output: "output"
    case .print: "print"
    case .progressive: "progressive"
    case .rangeRows: "range-rows"
    case .rate: "rate"
    case .restart: "restart"
    case .salvage: "salvage"
    case .set: "set"
    case .target: "to"
    case .validation: "validation"
    case .verify: "verify"
    case .work: "work"
    case .workers: "workers"
    }
  }
}
