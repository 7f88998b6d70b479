/// What becomes of the objects at the other end when an object is deleted, under Core Data's
/// number.
package enum DeleteRule: Int, Hashable, Sendable, Codable {
  case noAction = 0
  case nullify = 1
  case cascade = 2
  case deny = 3
}

/// What a managed object model says of one relationship.
package struct Relationship: Hashable, Sendable, Codable {
  package var name: String
  package var destinationEntityName: String
  package var inverseName: String?
  package var isOptional = false
  package var isTransient = false
  package var isToMany: Bool
  package var isOrdered = false
  package var minCount: Int64 = 0
  /// The largest number of objects; 0 in a to-many means no limit, a to-one has 1.
  package var maxCount: Int64
  package var deleteRule = DeleteRule.nullify
  package var isIndexed = false
  package var isIndexedBySpotlight = false
  package var versionHashModifier: String?
  package var renamingIdentifier: String?
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  package var unread: [UnreadPart] = []

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
