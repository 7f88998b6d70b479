import MigrationEngine

extension PageError: DamageTelling {
  package var tellsDamage: Bool {
    switch problem {
    case .damaged, .endOfFile, .keysOutOfOrder, .duplicateKeys, .indexDiffers: true
    default: false
    }
  }
}
