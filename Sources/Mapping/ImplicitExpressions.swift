package import Expressions
package import ObjectModel

/// The value expressions that a mapping document leaves out, as Xcode's compiler writes them.
package struct ImplicitExpressions {
  private let mappings: [(name: String, source: String?, destination: String?)]
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel

  /// Takes all mappings of the mapping model.
  package init(
    mappings: [(name: String, source: String?, destination: String?)],
    source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    self.mappings = mappings
    self.source = source
    self.destination = destination
  }

  /// The attribute of the same name, if the source entity has it.
  package func attribute(name: String, from entityName: String?) -> ValueExpression? {
    guard let entity = entityName.flatMap({ source.entity(name: $0) }),
      (source.allAttributes(of: entity) + source.allLeafAttributes(of: entity)).contains(where: {
        $0.name == name
      })
    else { return nil }
    return .source(name: name)
  }

  /// What became of the objects of the relationship of the same name, if the source entity has it.
  ///
  /// The compiler names the mapping of the objects where that is the only one that can have made
  /// them. Where the destination entity has subentities, several can, and it goes by relationship;
  /// so it must where there are several mappings or none, which no real file shows.
  package func relationship(
    name: String, from sourceName: String?, to destinationName: String?
  ) -> ValueExpression? {
    guard let old = sourceName.flatMap({ source.entity(name: $0) }),
      let new = destinationName.flatMap({ destination.entity(name: $0) }),
      let before = source.relationship(named: name, of: old)
    else { return nil }
    let after = destination.relationship(named: name, of: new)
    return destinations(of: before, as: after)
  }

  /// The objects that a destination relationship gets for a key path of the source object; nil
  /// where the mapping that makes them is not known.
  package func destinations(
    of path: ValueExpression, from sourceName: String?, as name: String,
    to destinationName: String?
  ) -> ValueExpression? {
    let old = sourceName.flatMap { source.entity(name: $0) }
    let new = destinationName.flatMap { destination.entity(name: $0) }
    let after = new.flatMap { entity in
      destination.relationship(named: name, of: entity)
    }
    if case .keyPath(.variable("source")?, let key) = path, let old,
      let before = source.relationship(named: key, of: old)
    {
      return destinations(of: before, as: after)
    }
    guard let after, let objects = entity(at: path, from: old) else { return nil }
    let makers = mappings.filter {
      $0.source == objects && $0.destination == after.destinationEntityName
    }
    return makers.count == 1 ? .destinations(of: path, mapping: makers[0].name) : nil
  }

  /// The entity of the objects at a key path of the source object.
  private func entity(at path: ValueExpression, from start: Entity?) -> String? {
    if path == .variable("source") { return start?.name }
    guard case .keyPath(.variable("source")?, let keys) = path else { return nil }
    var entity = start
    for key in keys.split(separator: ".") {
      let relationship = entity.flatMap { entity in
        source.relationship(named: String(key), of: entity)
      }
      entity = relationship.flatMap { source.entity(name: $0.destinationEntityName) }
    }
    return entity?.name
  }

  /// What became of the objects of a source relationship, for a destination relationship.
  func destinations(
    of before: Relationship, as after: Relationship?
  ) -> ValueExpression {
    let target = after?.destinationEntityName ?? before.destinationEntityName
    let makers = mappings.filter {
      $0.source == before.destinationEntityName && $0.destination == target
    }
    guard makers.count == 1, destination.subentities(of: target).isEmpty else {
      return .destinations(ofRelationship: before.name)
    }
    return .destinations(ofRelationship: before.name, mapping: makers[0].name)
  }
}
