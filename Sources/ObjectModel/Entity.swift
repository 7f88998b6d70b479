package import Expressions

/// The description of one entity in a managed object model; properties are its own, without
/// inherited ones.
package struct Entity: Hashable, Sendable, Codable {
  /// The name, by which models, mappings and metadata refer to the entity.
  package var name: String
  /// The class of its objects; nil means `NSManagedObject`.
  package var className: String?
  /// Whether it has no objects of its own, only those of subentities.
  package var isAbstract = false
  /// The entity that it inherits properties from and shares a table with; nil for a root.
  package var superentityName: String?
  /// Its attributes, in any order.
  package var attributes: [Attribute] = []
  /// Its relationships, in any order.
  package var relationships: [Relationship] = []
  /// Its fetched properties, in any order.
  package var fetchedProperties: [FetchedProperty] = []
  /// The fetch indexes that it declares, in declared order.
  package var fetchIndexes: [FetchIndex] = []
  /// Compound indexes of models before fetch indexes: the property names of each.
  package var compoundIndexes: [[String]] = []
  /// The property names of each uniqueness constraint, in declared order.
  package var uniquenessConstraints: [[String]] = []
  /// A text that changes the version hash where nothing else does; nil for none.
  package var versionHashModifier: String?
  /// The name in an earlier version that this entity continues; nil means its own.
  package var renamingIdentifier: String?
  /// The texts of the user info, by their keys.
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  /// Parts of the entity that could not be read.
  package var unread: [UnreadPart] = []

  /// Makes a root entity without properties.
  package init(_ name: String) { self.name = name }
}

/// A fetched property: a query that looks like a relationship and is never stored.
package struct FetchedProperty: Hashable, Sendable, Codable {
  /// The name of the property, which shares names with attributes and relationships.
  package var name: String
  /// Whether the property is optional.
  package var isOptional = false
  /// The query whose results are its value.
  package var request: FetchRequest
  /// The name in an earlier version that it continues; nil means its own.
  package var renamingIdentifier: String?
  /// A modifier as other properties have it, which here no version hash covers.
  package var versionHashModifier: String?
  /// The texts of the user info, by their keys.
  package var userInfo: [String: String] = [:]
  /// Other values of the user info, each as the keyed archive that it came in.
  package var opaqueUserInfo: [String: [UInt8]] = [:]
  /// Parts of the property that could not be read.
  package var unread: [UnreadPart] = []

  /// Makes a fetched property that is not optional.
  package init(name: String, request: FetchRequest) {
    self.name = name
    self.request = request
  }
}

/// A fetch request of a fetched property or of a model's templates.
package struct FetchRequest: Hashable, Sendable, Codable {
  /// The entity whose objects are fetched; nil where none is set.
  package var entityName: String?
  /// Which objects are fetched; nil for all of them.
  package var predicate: ValuePredicate?
  /// The predicate as the keyed archive that it came in, where it could not be written again.
  package var opaquePredicate: [UInt8]?
  /// What is fetched, under Core Data's number (`NSFetchRequestResultType`): 0 objects, 1 their
  /// identifiers, 2 dictionaries, 4 a count.
  package var resultType: Int64 = 0
  /// The most objects that are fetched; 0 for no limit.
  package var fetchLimit: Int64 = 0
  /// How many objects are made at a time; 0 for all at once.
  package var batchSize: Int64 = 0
  /// Whether objects of subentities are fetched as well.
  package var includesSubentities = true
  /// Whether attribute values are fetched along with the rows.
  package var includesPropertyValues = true
  /// Whether changes that are not saved count.
  package var includesPendingChanges = true
  /// Whether objects are fetched without their values, until these are requested.
  package var returnsObjectsAsFaults = true
  /// Whether equal dictionaries come once.
  package var returnsDistinctResults = false

  /// Makes a request with Core Data's default flags.
  package init(entityName: String?, predicate: ValuePredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}

/// An index that a model requires.
package struct FetchIndex: Hashable, Sendable, Codable {
  /// The name, which is part of the index's name in the store.
  package var name: String
  /// What is indexed, the first by which to sort first.
  package var elements: [Element]
  /// Which rows the index has; nil for all of them.
  package var partialPredicate: ValuePredicate?
  /// The condition as the keyed archive that it came in, where it could not be written again.
  package var opaquePredicate: [UInt8]?

  /// Makes an index of any number of elements.
  package init(name: String, elements: [Element], partialPredicate: ValuePredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }

  /// One column of an index: a property, or an expression without a property.
  package struct Element: Hashable, Sendable, Codable {
    /// How the index is kept, under Core Data's number (`NSFetchIndexElementType`).
    package enum Kind: Int, Hashable, Sendable, Codable {
      /// A b-tree, which is every index that SQLite keeps by itself.
      case binary = 0
      /// An R-tree, which was never seen in a store and is not made.
      case rTree = 1
    }

    /// The property whose column is indexed; nil where an expression is.
    package var propertyName: String?
    /// The expression that is indexed; nil where a property is.
    package var expression: ValueExpression?
    /// The structure of the index.
    package var kind = Kind.binary
    /// Whether low values come first.
    package var isAscending = true

    /// Makes an element of a b-tree that indexes a property.
    package init(property: String, isAscending: Bool = true) {
      propertyName = property
      self.isAscending = isAscending
    }

    /// Makes an element of a b-tree that indexes an expression.
    package init(expression: ValueExpression, isAscending: Bool = true) {
      self.expression = expression
      self.isAscending = isAscending
    }
  }
}
