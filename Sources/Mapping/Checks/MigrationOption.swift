/// The options of a migration, check or verification, independent of their spelling.
package enum MigrationOption: Hashable, Sendable, CaseIterable {
  case accept, allowLoss, checkSource, cloudKit, discardOld, elements, engine, entity, extraTables
  case failOnLoss, graph, history, inferOnly, joinTable, json, label, leaveOut, limit, mapping
  case memory, models, newUUID, noInfer, noRecord, onDangling, onDuplicate, onMany, onMissing
  case onValue, order, output, print, progressive, rangeRows, rate, restart, salvage, set, target
  case validation, verify, work, workers
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
