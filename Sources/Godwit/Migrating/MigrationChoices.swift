import MigrationCoordinator

extension StoreMigration {
  /// The losses to accept, and the treatment of objects, values and tables that do not fit.
  ///
  /// A new value chooses nothing: the migration is refused if there is something to choose.
  public struct Choices: Sendable {
    /// The losses to accept beyond those that the model implies.
    public var allowedLoss: AllowedLoss = []
    /// Whether every loss needs consent in ``allowedLoss``, even those that the model implies.
    public var failsOnLoss = false
    /// What is done about objects that a uniqueness constraint forbids.
    public var duplicates = DuplicateChoice.fail
    /// What is done about references to objects that are not there.
    public var danglingReferences = DanglingChoice.keep
    /// What is done about values that the new type has no equal for.
    public var unfitValues = ValueChoice.fail
    /// What is done about objects that would lack a mandatory to-one relationship.
    public var missingReferences = MissingChoice.fail
    /// What is done about objects that have several objects in a relationship that is to-one now.
    public var severalObjects = ManyChoice.fail
    /// What becomes of tables with rows that the model knows nothing of.
    public var extraTables = ExtraTableChoice.refuse
    /// What becomes of persistent history.
    public var history = HistoryChoice.keep
    /// What becomes of CloudKit mirroring.
    public var cloudKit = CloudKitChoice.refuse
    /// Whether what can be read of a damaged store is taken, and what is lost is listed; otherwise
    /// a damaged store is refused.
    ///
    /// The old store is then kept, even with ``Handover/discardsOld``.
    public var salvagesDamaged = false

    /// Refuses whatever has to be chosen.
    public init() {}
  }

  /// Which losses are accepted: ``anything``, or a list of entities (`Entity`) and properties
  /// (`Entity.property`).
  public struct AllowedLoss: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// Any loss.
    public static let anything = Self(names: [], isAnything: true)

    /// The entities and properties whose loss is accepted.
    public let names: Set<String>
    /// Whether any loss of anything is accepted.
    public let isAnything: Bool

    private init(names: Set<String>, isAnything: Bool) {
      (self.names, self.isAnything) = (names, isAnything)
    }

    /// Accepts any loss of these entities and properties; of none where there are no names.
    public init(of names: some Sequence<String>) {
      self.init(names: Set(names), isAnything: false)
    }

    var consent: LossConsent {
      isAnything ? .all : names.isEmpty ? .none : .some(names)
    }

    /// Accepts any loss of these entities and properties.
    public init(arrayLiteral names: String...) { self.init(of: names) }
  }

  /// What is done about objects that a uniqueness constraint forbids.
  public enum DuplicateChoice: String, Hashable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// Of objects that agree, the one with the lowest key stays.
    case keepFirst = "keep-first"
    /// Of objects that agree, the one with the highest key stays.
    case keepLast = "keep-last"
    /// Of objects that agree, the one with the lowest key stays, and references to the others lead
    /// to it.
    case merge
  }

  /// What is done about references to objects that are not there.
  public enum DanglingChoice: String, Hashable, Sendable, CaseIterable {
    /// They are carried over as they are, as Core Data does.
    case keep
    /// They are refused.
    case fail
    /// They become nil.
    case nullify
  }

  /// What is done about values that the new type has no equal for.
  public enum ValueChoice: String, Hashable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// They become the nearest value, where there is one.
    case convert
    /// They become nil, or the default value where the attribute is mandatory.
    case null
  }

  /// What is done about objects that have several objects in a relationship that is to-one now.
  public enum ManyChoice: String, Hashable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// The first object stays, by its place or its key; references to the others are given up.
    case first
  }

  /// What is done about objects that would lack a mandatory to-one relationship.
  public enum MissingChoice: String, Hashable, Sendable, CaseIterable {
    /// They are refused.
    case fail
    /// They are dropped, which is a loss that needs consent, and so are those that lack them then.
    case drop
  }

  /// What becomes of persistent history.
  public enum HistoryChoice: String, Hashable, Sendable, CaseIterable {
    /// It stays, so that its tokens stay valid. If objects are made one by one it is dropped, a
    /// loss named `history`.
    case keep
    /// Its tables are emptied, and tokens expire.
    case drop
  }

  /// How to treat CloudKit mirroring, which is untested on real stores.
  public enum CloudKitChoice: String, Hashable, Sendable, CaseIterable {
    /// A store that is mirrored is refused.
    case refuse
    /// The tables of mirroring are carried over, with the entity numbers of the new model.
    case carry
  }

  /// What becomes of tables with rows that the model knows nothing of, and of unknown views and
  /// triggers.
  public enum ExtraTableChoice: String, Hashable, Sendable, CaseIterable {
    /// A store that has any is refused.
    case refuse
    /// Tables are copied as they are; columns, views, triggers and virtual tables are refused.
    case keep
    /// They are left behind.
    case drop
  }
}

extension StoreMigration.Choices {
  /// The choices about defects for the coordinator.
  var ofDefects: DefectChoices {
    var choices = DefectChoices()
    choices.duplicates = .init(mirroring: duplicates)
    choices.dangling = .init(mirroring: danglingReferences)
    choices.values = .init(mirroring: unfitValues)
    choices.many = .init(mirroring: severalObjects)
    choices.missing = .init(mirroring: missingReferences)
    return choices
  }
}
