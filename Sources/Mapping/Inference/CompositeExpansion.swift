import Expressions
package import ObjectModel

extension MappingModel {
  /// The mapping model with the mappings of composite attributes in the form of those of their
  /// elements, which have the columns.
  ///
  /// A mapping of a whole composite yields a dictionary, from which each element takes the entry of
  /// its name; an element that has a mapping of its own, such as `author.id`, keeps it.
  package func expandingComposites(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> MappingModel {
    MappingModel(
      entityMappings: entityMappings.map { mapping in
        var result = mapping
        let expansion = CompositeExpansion(
          old: mapping.sourceEntityName.flatMap { source.entity(name: $0) }.map {
            source.allAttributes(of: $0)
          } ?? [],
          new: mapping.destinationEntityName.flatMap { destination.entity(name: $0) }.map {
            destination.allAttributes(of: $0)
          } ?? [])
        result.attributeMappings = expansion.expanded(mapping.attributeMappings)
        return result
      })
  }
}

/// The attributes of the two entities of a mapping.
private struct CompositeExpansion {
  let old: [Attribute]
  let new: [Attribute]

  func expanded(_ properties: [PropertyMapping]) -> [PropertyMapping] {
    let listed = Set(properties.map(\.name))
    let leaves = Set(old.flatMap(\.leaves).filter(\.isElement).map(\.name))
    return properties.flatMap { property -> [PropertyMapping] in
      guard
        let composite = new.first(where: { $0.name == property.name && $0.type == .composite }),
        !composite.elements.isEmpty
      else { return [property] }
      return zip(composite.elements, composite.leaves).filter { !listed.contains($1.name) }.map {
        element, leaf in
        var result = property
        result.name = leaf.name
        result.valueExpression = property.valueExpression.flatMap { self.element(element, of: $0) }
        return result
      }
    }.map { property in
      var result = property
      if let path = property.valueExpression?.sourcePath, leaves.contains(path) {
        result.readsElement = true
      }
      return result
    }
  }

  /// What yields an element of the dictionary that an expression yields; nil where that has none.
  private func element(_ element: Attribute, of expression: ValueExpression) -> ValueExpression? {
    if expression == .constant(.null) { return expression }
    let names = [element.name, element.renamingIdentifier].compactMap(\.self)
    guard case .keyPath(.variable("source")?, let path) = expression,
      let before = old.first(where: { $0.name == path && $0.type == .composite })
    else { return .keyPath(operand: expression, element.name) }
    return names.first { name in before.elements.contains { $0.name == name } }.map {
      .source(name: "\(path).\($0)")
    }
  }
}

extension ValueExpression {
  /// The key path of `$source` that is read, if the expression is only that, or that with another
  /// value instead of nil.
  fileprivate var sourcePath: String? {
    switch self {
    case .keyPath(.variable("source")?, let path): path
    case .ternary(_, .constant, .keyPath(.variable("source")?, let path)): path
    default: nil
    }
  }
}
