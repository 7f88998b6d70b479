/// The options of a migration, check or verification, each with the name under which records keep
/// it and command lines have it.
package enum MigrationOption: String, Hashable, Sendable, CaseIterable {
  case accept, elements, engine, entity, graph, history, json, label, launcher, limit, mapping
  case memory, models, order, output, print, progressive, rate, restart, salvage, set, stepwise
  case validation, verify, work, workers
  case allowLoss = "allow-loss"
  case checkSource = "check-source"
  case cloudKit = "cloudkit"
  case discardOld = "discard-old"
  case extraTables = "extra-tables"
  case failOnLoss = "fail-on-loss"
  case inferOnly = "infer-only"
  case joinTable = "join-table"
  case leaveOut = "leave-out"
  case newUUID = "new-uuid"
  case noInfer = "no-infer"
  case noRecord = "no-record"
  case onDangling = "on-dangling"
  case onDuplicate = "on-duplicate"
  case onMany = "on-many"
  case onMissing = "on-missing"
  case onValue = "on-value"
  case rangeRows = "range-rows"
  case target = "to"
}

/// An option with what was chosen, or may be.
package struct MigrationChoice: Hashable, Sendable {
  /// The option.
  package var option: MigrationOption
  /// What is chosen; nil for a switch.
  package var value: String?

  /// Takes both.
  package init(_ option: MigrationOption, _ value: String? = nil) {
    (self.option, self.value) = (option, value)
  }
}
