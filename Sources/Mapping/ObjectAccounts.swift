/// What mappings that were carried out object by object took and made.
package struct ObjectAccounts: Hashable, Codable, Sendable {
  /// What became of the objects of one source entity.
  package struct OfEntity: Hashable, Codable, Sendable {
    /// The name of the entity.
    package var entity: String
    /// Rows of the entity, counted in its table.
    package var objects: Int64 = 0
    /// Objects from which something was made.
    package var kept: Int64 = 0
    /// Objects that no mapping took.
    package var untaken: Int64 = 0
    /// Objects that a mapping took but made nothing from.
    package var dropped: Int64 = 0
    /// The lowest keys of objects that no mapping took.
    package var untakenKeys: [Int64] = []
    /// The lowest keys of objects that were dropped.
    package var droppedKeys: [Int64] = []

    /// Makes the accounts of an entity before the first object.
    package init(entity: String) { self.entity = entity }
  }

  /// What one entity mapping took and made.
  package struct OfMapping: Hashable, Codable, Sendable {
    /// Its mapping model's place in the step.
    package var model: Int
    /// The name of the entity mapping.
    package var mapping: String
    /// The source entity; nil where it makes an object of none.
    package var source: String?
    /// The destination entity; nil where only its policy makes objects.
    package var destination: String?
    /// Source objects that it took.
    package var taken: Int64
    /// Source objects from which it made something.
    package var used: Int64
    /// Objects that it made.
    package var made: Int64

    /// Takes counts over all source objects of the mapping.
    package init(
      model: Int, mapping: String, source: String?, destination: String?, taken: Int64,
      used: Int64, made: Int64
    ) {
      self.model = model
      self.mapping = mapping
      self.source = source
      self.destination = destination
      self.taken = taken
      self.used = used
      self.made = made
    }
  }

  /// The references of one relationship that policies or expressions decide, by result.
  package struct OfReferences: Hashable, Codable, Sendable {
    /// References that are lost though the object whose row keeps them stays.
    package struct Loss: Hashable, Codable, Sendable {
      /// Why they are lost.
      package var cause: LossCause
      /// The entity of their owners.
      package var entity: String
      /// How many there are.
      package var references: Int64
      /// The lowest keys of their rows.
      package var keys: [Int64]
    }

    /// The entity that declares the relationship.
    package var entity: String
    /// The relationship.
    package var relationship: String
    /// References of the source.
    package var references: Int64 = 0
    /// Those that the result does not have, by cause, those of `losses` among them.
    package var dropped: [LossCause: Int64] = [:]
    /// Those that are losses of their own.
    package var losses: [Loss] = []

    /// Makes an account before the first reference.
    package init(entity: String, relationship: String) {
      (self.entity, self.relationship) = (entity, relationship)
    }

    /// Counts a reference that goes with its object, or led nowhere.
    package mutating func drop(_ cause: LossCause) { dropped[cause, default: 0] += 1 }

    /// Counts a reference that is a loss of its own.
    package mutating func lose(_ cause: LossCause, entity: String, key: Int64) {
      drop(cause)
      let index =
        losses.firstIndex { $0.cause == cause && $0.entity == entity } ?? losses.count
      if index == losses.count {
        losses.append(.init(cause: cause, entity: entity, references: 0, keys: []))
      }
      losses[index].references += 1
      if losses[index].keys.count < Self.mostKeys { losses[index].keys.append(key) }
    }

    private static let mostKeys = 10

    /// Adds other references of the same relationship.
    fileprivate mutating func add(_ other: Self) {
      references += other.references
      dropped.merge(other.dropped, uniquingKeysWith: +)
      for loss in other.losses {
        guard
          let known = losses.firstIndex(where: {
            $0.cause == loss.cause && $0.entity == loss.entity
          })
        else {
          losses.append(loss)
          continue
        }
        losses[known].references += loss.references
        losses[known].keys = Array((losses[known].keys + loss.keys).sorted().prefix(Self.mostKeys))
      }
    }
  }

  /// The accounts of source entities, each in one element.
  package var entities: [OfEntity] = []
  /// The accounts of entity mappings.
  package var mappings: [OfMapping] = []
  /// Rows that were written, by destination entity.
  package var rows: [String: Int64] = [:]
  /// The references that policies or expressions decide, by result.
  package var references: [OfReferences] = []
  /// The source properties that were read.
  package var read = PropertiesRead()

  /// Makes accounts of nothing.
  package init() {}

  /// Adds the accounts that another worker kept, of other entities and mappings.
  package mutating func add(_ other: Self) {
    entities += other.entities
    mappings += other.mappings
    for one in other.references {
      let known = references.firstIndex {
        $0.entity == one.entity && $0.relationship == one.relationship
      }
      if let known { references[known].add(one) } else { references.append(one) }
    }
    rows.merge(other.rows, uniquingKeysWith: +)
    read.add(other.read)
  }
}
