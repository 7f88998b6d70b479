package import Expressions

/// What a managed object model says of one entity; properties are its own, without inherited ones.
package struct Entity: Hashable, Sendable, Codable {
  package var name: String
  package var className: String?
  package var isAbstract = false
  package var superentityName: String?
  package var attributes: [Attribute] = []
  package var relationships: [Relationship] = []
  package var fetchedProperties: [FetchedProperty] = []
  package var fetchIndexes: [FetchIndex] = []
  /// Compound indexes of models before fetch indexes: the property names of each.
  package var compoundIndexes: [[String]] = []
  /// The property names of each uniqueness constraint, in declared order.
  package var uniquenessConstraints: [[String]] = []
  package var versionHashModifier: String?
  package var renamingIdentifier: String?
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  package var unread: [UnreadPart] = []

  package init(_ name: String) { self.name = name }
}

/// A fetched property: a query that looks like a relationship and is never stored.
package struct FetchedProperty: Hashable, Sendable, Codable {
  package var name: String
  package var isOptional = false
  package var request: FetchRequest
  package var renamingIdentifier: String?
  package var versionHashModifier: String?
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  package var unread: [UnreadPart] = []

  package init(name: String, request: FetchRequest) {
    self.name = name
    self.request = request
  }
}

/// A fetch request of a fetched property or of a model's templates.
package struct FetchRequest: Hashable, Sendable, Codable {
  package var entityName: String?
  package var predicate: ValuePredicate?
  /// The predicate as the keyed archive that it came in, where it could not be written again.
  package var opaquePredicate: [UInt8]?
  package var resultType: Int64 = 0
  package var fetchLimit: Int64 = 0
  package var batchSize: Int64 = 0
  package var includesSubentities = true
  package var includesPropertyValues = true
  package var includesPendingChanges = true
  package var returnsObjectsAsFaults = true
  package var returnsDistinctResults = false

  package init(entityName: String?, predicate: ValuePredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}

/// An index that a model asks for.
package struct FetchIndex: Hashable, Sendable, Codable {
  package var name: String
  package var elements: [Element]
  package var partialPredicate: ValuePredicate?
  /// The condition as the keyed archive that it came in, where it could not be written again.
  package var opaquePredicate: [UInt8]?

  package init(name: String, elements: [Element], partialPredicate: ValuePredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }

  /// One column of an index: a property, or an expression for which there is no property.
  package struct Element: Hashable, Sendable, Codable {
    /// How the index is kept, under Core Data's number (`NSFetchIndexElementType`).
    package enum Kind: Int, Hashable, Sendable, Codable {
      case binary = 0
      case rTree = 1
    }

    package var propertyName: String?
    package var expression: ValueExpression?
    package var kind = Kind.binary
    package var isAscending = true

    package init(property: String, isAscending: Bool = true) {
      propertyName = property
      self.isAscending = isAscending
    }

    package init(expression: ValueExpression, isAscending: Bool = true) {
      self.expression = expression
      self.isAscending = isAscending
    }
  }
}
