/// What mappings that were carried out object by object took and made.
package struct ObjectAccounts: Hashable, Codable, Sendable {
  /// What became of the objects of one source entity.
  package struct OfEntity: Hashable, Codable, Sendable {
    /// The name of the entity.
    package var entity: String
    /// Rows of the entity, counted in its table.
    package var objects: Int64 = 0
    /// Objects of which something was made.
    package var kept: Int64 = 0
    /// Objects that no mapping took.
    package var untaken: Int64 = 0
    /// Objects that a mapping took and of which nothing was made.
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
    /// The source entity.
    package var source: String
    /// The destination entity; nil where only its policy makes objects.
    package var destination: String?
    /// Source objects that it took.
    package var taken: Int64
    /// Source objects of which it made something.
    package var used: Int64
    /// Objects that it made.
    package var made: Int64

    /// Takes counts over all source objects of the mapping.
    package init(
      model: Int, mapping: String, source: String, destination: String?, taken: Int64,
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

  /// The accounts of source entities, each in one element.
  package var entities: [OfEntity] = []
  /// The accounts of entity mappings.
  package var mappings: [OfMapping] = []
  /// Rows that were written, by destination entity.
  package var rows: [String: Int64] = [:]
  /// The source properties that were read.
  package var read = PropertiesRead()

  /// Makes accounts of nothing.
  package init() {}

  /// Adds the accounts that another worker kept, of other entities and mappings.
  package mutating func add(_ other: Self) {
    entities += other.entities
    mappings += other.mappings
    rows.merge(other.rows, uniquingKeysWith: +)
    read.add(other.read)
  }
}
