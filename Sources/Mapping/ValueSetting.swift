package import Expressions
package import ObjectModel

/// An expression for a property of an entity, which replaces the one in the mapping.
package struct ValueSetting: Hashable, Sendable {
  /// Why a text is none.
  package enum Problem: Error, Hashable, Sendable {
    /// The text is not `Entity.property=EXPRESSION`.
    case form
    /// The expression cannot be read.
    case expression(FormatError)
    /// The property has another expression already.
    case repeated
  }

  /// The destination entity; its subentities have the property too.
  package var entity: String
  /// The attribute, or an element of a composite one as `author.id`.
  package var property: String
  /// What yields the value.
  package var expression: ValueExpression

  /// Reads `Entity.property=EXPRESSION`.
  package init(text: String) throws(Problem) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let names = (parts.first ?? "").split(
      separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, names.count == 2, !names.contains(where: \.isEmpty) else {
      throw .form
    }
    (entity, property) = (String(names[0]), String(names[1]))
    do throws(FormatError) {
      expression = try ValueExpression(format: String(parts[1]))
    } catch {
      throw .expression(error)
    }
  }

  /// The entity and the property.
  package var name: String { "\(entity).\(property)" }

  /// Whether a model has the attribute, and stores a value of it that Core Data does not derive.
  package func isKnown(in model: ManagedObjectModel) -> Bool {
    model.entity(name: entity).flatMap { model.leafAttribute(named: property, of: $0) }?
      .isSettable ?? false
  }
}

extension Attribute {
  /// Whether a migration may give it a value: a store has none of a transient attribute, and Core
  /// Data computes that of a derived one.
  package var isSettable: Bool { !isTransient && derivation == nil }
}

extension MappingModel {
  /// The mapping model with other expressions for some attributes.
  ///
  /// A setting holds for the objects of its entity and of all below it; of two, the one for the
  /// nearer entity counts.
  package func setting(
    _ settings: [ValueSetting], from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> MappingModel {
    var result = self
    for index in entityMappings.indices {
      guard entityMappings[index].sourceEntityName != nil,
        let name = entityMappings[index].destinationEntityName,
        let entity = destination.entity(name: name)
      else { continue }
      for level in destination.lineage(of: entity).reversed() {
        for setting in settings where setting.entity == level.name {
          result.entityMappings[index].give(setting.expression, to: setting.property)
        }
      }
    }
    return result.expandingComposites(from: source, to: destination)
  }
}

extension EntityMapping {
  fileprivate mutating func give(_ expression: ValueExpression, to name: String) {
    let mapping = PropertyMapping(name: name, valueExpression: expression)
    if let place = attributeMappings.firstIndex(where: { $0.name == name }) {
      attributeMappings[place] = mapping
    } else {
      attributeMappings.append(mapping)
    }
  }
}

/// An inferred mapping with expressions of the user's for some attributes.
package struct AnsweredInference {
  /// The mapping model.
  package let mapping: MappingModel
  /// What keeps the rest from being inferred.
  package let refusals: [Refusal]
  /// What the objects of the store have to satisfy for the rest.
  package let conditions: [Condition]

  /// Infers the mapping between two models, and puts the expressions into it.
  package init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, settings: [ValueSetting]
  ) {
    let inference = MappingInference(from: source, to: destination)
    mapping = inference.mapping.setting(settings, from: source, to: destination)
    refusals = inference.refusals.filter { !$0.isAnswered(by: settings, in: destination) }
    conditions = inference.conditions.filter { condition in
      let names = settings.filter {
        destination.isKind(condition.destinationEntity, of: $0.entity)
      }.map(\.property)
      // What the expressions yield is checked as in any mapping model.
      if case .unique(let properties) = condition.demand {
        return !properties.contains(where: names.contains)
      }
      return condition.property.map { !names.contains($0) } ?? true
    }
  }
}

extension Refusal {
  /// Whether it is about an attribute to which settings give a value in all objects.
  package func isAnswered(
    by settings: [ValueSetting], in destination: ManagedObjectModel
  ) -> Bool {
    guard let property, case .incompatibleTypes = reason else { return false }
    // The refusal names the entity that declares the attribute.
    return settings.contains { setting in
      [setting.property, Attribute.compositeOrOwnName(of: setting.property)].contains(property)
        && destination.isKind(entity, of: setting.entity)
    }
  }
}
