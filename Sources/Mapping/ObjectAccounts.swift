/// What mappings that were carried out object by object took and made.
package struct ObjectAccounts: Hashable, Codable, Sendable {
  /// What became of the objects of one source entity.
  package struct OfEntity: Hashable, Codable, Sendable {
    package var entity: String
    /// Rows of the entity, counted in its table.
    package var objects: Int64 = 0
    /// Objects of which something was made.
    package var kept: Int64 = 0
    /// Objects that no mapping took.
    package var untaken: Int64 = 0
    /// Objects that a mapping took and of which nothing was made.
    package var dropped: Int64 = 0
    /// The lowest keys of both.
    package var untakenKeys: [Int64] = []
    package var droppedKeys: [Int64] = []

    package init(entity: String) { self.entity = entity }
  }

  /// What one entity mapping took and made.
  package struct OfMapping: Hashable, Codable, Sendable {
    /// Its mapping model's place in the step.
    package var model: Int
    package var mapping: String
    package var source: String
    package var destination: String?
    /// Source objects that it took.
    package var taken: Int64
    /// Source objects of which it made something.
    package var used: Int64
    /// Objects that it made.
    package var made: Int64

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

  package var entities: [OfEntity] = []
  package var mappings: [OfMapping] = []
  /// Rows that were written, by destination entity.
  package var rows: [String: Int64] = [:]
  /// The source properties that were read.
  package var read = PropertiesRead()

  package init() {}

  /// Adds what another worker tells of other entities and mappings.
  package mutating func add(_ other: Self) {
    entities += other.entities
    mappings += other.mappings
    rows.merge(other.rows, uniquingKeysWith: +)
    read.add(other.read)
  }
}
