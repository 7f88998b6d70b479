/// What becomes of the objects at the other end when an object is deleted, under Core Data's
/// number.
package enum DeleteRule: Int, Hashable, Sendable, Codable {
  /// Nothing becomes of them; they may lead to an object that is gone.
  case noAction = 0
  /// They lose their reference to the object.
  case nullify = 1
  /// They are deleted too.
  case cascade = 2
  /// The object is not deleted while there are any.
  case deny = 3
}

/// The description of one relationship in a managed object model.
package struct Relationship: Hashable, Sendable, Codable {
  /// The name, by which mappings, predicates and the column refer to the relationship.
  package var name: String
  /// The entity that it leads to; its objects may be of subentities.
  package var destinationEntityName: String
  /// The relationship that leads back; nil where there is none.
  package var inverseName: String?
  /// Whether an object may be without any; otherwise validation requires one.
  package var isOptional = false
  /// Whether it is never stored: it has no column, and no version hash covers it.
  package var isTransient = false
  /// Whether an object may have several; decides between a column here, one there, and a join
  /// table.
  package var isToMany: Bool
  /// Whether the objects of a to-many have an order, which a `Z_FOK_` column keeps.
  package var isOrdered = false
  /// The least number of objects; 0 means no minimum.
  package var minCount: Int64 = 0
  /// The largest number of objects; 0 in a to-many means no limit, a to-one has 1.
  package var maxCount: Int64
  /// What becomes of the objects at the other end; no store has it but in the model cache.
  package var deleteRule = DeleteRule.nullify
  /// The indexed flag of old models, which no model cache keeps.
  package var isIndexed = false
  /// Whether Spotlight indexes the relationship; kept for the model cache only.
  package var isIndexedBySpotlight = false
  /// A text that changes the version hash where nothing else does; nil for none.
  package var versionHashModifier: String?
  /// The name in an earlier version that this relationship continues; nil means its own.
  package var renamingIdentifier: String?
  /// The texts of the user info, by their keys.
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  /// Parts of the relationship that could not be read.
  package var unread: [UnreadPart] = []

  /// Makes a mandatory relationship: a to-one, or a to-many without a maximum.
  package init(
    name: String, to destination: String, inverse: String? = nil, isToMany: Bool = false
  ) {
    self.name = name
    destinationEntityName = destination
    inverseName = inverse
    self.isToMany = isToMany
    maxCount = isToMany ? 0 : 1
  }
}
