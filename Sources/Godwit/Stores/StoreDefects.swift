import MigrationCoordinator

extension StoreMigration {
  /// Something that is wrong with rows of a store, and what becomes of it.
  public struct Defect: Hashable, Sendable, Codable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
      /// Other objects agree in the attributes of a uniqueness constraint.
      case duplicate
      /// References lead to objects that are not there.
      case dangling
      /// Objects would lack a mandatory to-one relationship.
      case missingReference
      /// Objects have several objects in a relationship that is to-one now.
      case severalObjects
      /// References led to an object that was removed: a duplicate, or one without a mandatory
      /// relationship.
      case removedTarget
      /// The entity numbers next to references are of no entity that the relationship can lead to.
      case unknownReference
      /// References of one-to-one relationships lead to objects that lead elsewhere.
      case oneSided
      /// Places in ordered relationships are missing, taken twice or no whole numbers.
      case order
      /// A mandatory attribute has no value, or a mandatory to-one relationship leads nowhere.
      case missingValue
      /// Values, or the number of objects in a relationship, break another rule of the store's own
      /// model.
      case brokenRule
      /// Values have no equal in the new type.
      case value
      /// The external files of values are not there.
      case missingFile
    }

    /// What becomes of it in the new store.
    public enum Fate: String, Hashable, Sendable, Codable, CaseIterable {
      /// It is as it was.
      case kept
      /// Values or references become nil.
      case nullified
      /// Objects or pairs are not in the new store.
      case removed
      /// References lead to the object that stays of several duplicates.
      case merged
      /// Objects were made one by one, so that both ends of a relationship agree.
      case aligned
      /// Objects were made one by one, with new places in the order that there was.
      case renumbered
    }

    /// What is wrong.
    public var kind: Kind
    /// The entity that declares the property, by its name in the store.
    public var entity: String
    /// The property; several of one constraint have commas between them.
    public var property: String
    /// How many rows.
    public var count: Int64
    /// Their primary keys (`Z_PK`): all of those that a choice touched, the lowest of others.
    public var keys: [Int64]
    /// What becomes of it.
    public var fate: Fate
    /// The number of the stage in whose store it is, from 1: that of the first is the given store.
    public var stage: Int
    /// True where objects of the entity are dropped for another cause, and what is wrong with them
    /// goes with them; nil where none is.
    public var someObjectsGo: Bool?

    /// What is wrong and what becomes of it, as a sentence.
    public var description: String {
      let some = keys.prefix(10).map { "\($0)" }.joined(separator: ", ")
      let more = Int64(min(10, keys.count)) < count ? ", …" : ""
      return "\(entity).\(property): \(GroupedText(count)) \(words) (Z_PK \(some)\(more)), \(end)"
        + (someObjectsGo == true ? " in the objects that stay" : "")
        + (stage > 1 ? ", in stage \(stage)." : ".")
    }

    init(_ core: MigrationCoordinator.Defect) {
      kind = Kind(mirroring: core.kind)
      fate = Fate(mirroring: core.fate)
      (entity, property, count, keys) = (core.entity, core.property, core.count, core.keys)
      stage = core.stage
      someObjectsGo = core.someObjectsGo
    }

    private var words: String {
      let one = count == 1
      return switch kind {
      case .duplicate:
        one ? "object that duplicates another one" : "objects that duplicate others"
      case .dangling:
        one
          ? "reference to an object that does not "
            + "exist" : "references to objects that do not exist"
      case .removedTarget:
        one ? "reference to a removed object" : "references to removed objects"
      case .severalObjects: "reference\(one ? "" : "s") after the first one of an object"
      case .missingReference:
        "object\(one ? "" : "s") that would lack the mandatory reference"
      case .unknownReference:
        "reference\(one ? "" : "s") with the number of an entity that is not allowed there"
      case .oneSided: "reference\(one ? "" : "s") without its inverse"
      case .order: "place\(one ? "" : "s") missing, repeated or not a number"
      case .missingValue: "object\(one ? "" : "s") without the mandatory value or reference"
      case .brokenRule: "object\(one ? "" : "s") that break\(one ? "s" : "") a rule of the model"
      case .value: "value\(one ? "" : "s") that the new type cannot represent"
      case .missingFile: "value\(one ? "" : "s") whose external file is missing"
      }
    }

    private var end: String {
      switch (fate, kind) {
      case (.kept, _): "kept as before"
      case (.nullified, .value), (.nullified, .missingFile): "nil now, or the default value"
      case (.nullified, _): "nil now"
      case (.removed, _): "not in the new store"
      case (.merged, _): "leading to the object that stays"
      case (.aligned, _): "changed so that both ends agree"
      case (.renumbered, _): "numbered anew"
      }
    }
  }
}
