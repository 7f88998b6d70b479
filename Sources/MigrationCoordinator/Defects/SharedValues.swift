import Mapping
import ObjectModel
import Schema

/// Which values of a store several properties are made of.
///
/// A value that does not fit one of them becomes nil in the store itself, and would be nil in all.
struct SharedValues {
  /// Those of each step, from the first on.
  let demands: [StageDemands]

  /// Whether more is made of an attribute than attributes of one type, before a step or by it.
  ///
  /// - Parameter type: the type in which the step's values do not fit.
  func contains(
    _ attribute: String, of entity: String, as type: AttributeType, step: Int
  ) -> Bool {
    let model = demands[step].checker.destination.model
    return contains(attribute, of: entity, step: step) { mapping, property in
      let new = mapping.destinationEntityName.flatMap { model.entity(name: $0) }
      return new.flatMap { model.leafAttribute(named: property, of: $0) }?.type == type
    }
  }

  private func contains(
    _ attribute: String, of entity: String, step: Int,
    besides isMeant: (EntityMapping, _ property: String) -> Bool
  ) -> Bool {
    let checker = demands[step].checker
    let isRead = checker.mapping.entityMappings.contains { mapping in
      let read = PropertiesRead(mapping: mapping, source: checker.view.model) {
        guard case .attribute(attribute, _) = $0.origin else { return true }
        return !isMeant(mapping, $0.name)
      }
      return read.contains(attribute, of: entity)
        || PropertiesRead(filterOf: mapping, source: checker.view.model)
          .contains(attribute, of: entity)
    }
    if isRead || step == 0 { return isRead }
    return demands[step - 1].checker.mapping.entityMappings.contains { mapping in
      guard mapping.destinationEntityName == entity, let source = mapping.sourceEntityName,
        let made = mapping.attributeMappings.first(where: { $0.name == attribute }),
        case .attribute(let name, _) = made.origin
      else { return false }
      return contains(name, of: source, step: step - 1) {
        $0.name == mapping.name && $1 == attribute
      }
    }
  }
}
