/// Why objects cannot be migrated each by itself.
package struct RowFallback: Error, Hashable, Sendable {
  /// What ties an object to others.
  package enum Reason: Hashable, Sendable {
    /// Another expression than a filter yields the objects of the mapping.
    case selection
    /// Which objects the filter takes depends on the moment.
    case moment
    /// The mapping has a filter, and what goes with the objects keeps account of each of them.
    case watched
    /// The policy does not declare that its objects are independent.
    case policy(String)
    /// Another mapping takes objects of the same source entity, or makes some of the same entity.
    case shared(by: String)
    /// The value needs more than the source object.
    case expression
    /// The relationship does not continue one of the source with all its objects.
    case relationship
    /// The attributes hold values of kinds that do not become each other.
    case type
    /// Objects may agree in a computed value that must be unique.
    case constraint
    /// The mapping makes objects of several source objects, or several of one.
    case newObjects
    /// The objects of the relationship are sorted by an attribute.
    case sorted
    /// Several mapping models make the step.
    case several
    /// The columns of the source have no place for the relationship of the destination.
    case columns
  }

  /// What ties an object to others.
  package var reason: Reason
  /// The name of the entity mapping.
  package var mapping: String
  /// The destination property; nil where the mapping itself is meant.
  package var property: String?

  /// Names the place of a reason.
  package init(reason: Reason, mapping: String, property: String? = nil) {
    (self.reason, self.mapping, self.property) = (reason, mapping, property)
  }
}
