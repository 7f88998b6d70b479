import MigrationEngine

extension PageError: DamageTelling {
  /// Whether the pages of the source, rather than the system, are at fault.
  package var tellsDamage: Bool {
    switch problem {
    case .damaged, .endOfFile, .keysOutOfOrder, .duplicateKeys, .indexDiffers: true
    default: false
    }
  }
}
