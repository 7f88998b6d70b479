import Mapping
import ObjectModel
import Testing

extension MappingLosses {
  /// The division of an entity by mappings with these filters, of which all but the first read `n`,
  /// or each reads all attributes.
  static func division(
    _ filters: [String], of entity: String, in model: ManagedObjectModel, readsAll: Bool = false
  ) throws -> Division {
    let all = model.entity(name: entity).map(model.allAttributes) ?? []
    let mappings = filters.enumerated().map { place, filter in
      var mapping = EntityMapping(
        name: "Item\(place)", kind: .transform, source: entity, destination: entity)
      mapping.sourceExpression = .sourceObjects(of: entity, where: filter)
      let names = readsAll ? all.map(\.name) : place == 0 ? [] : ["n"]
      mapping.attributeMappings = names.map {
        PropertyMapping(name: $0, valueExpression: .source(name: $0))
      }
      return mapping
    }
    let losses = MappingLosses(
      models: [MappingModel(entityMappings: mappings)], source: model, destination: model)
    return try #require(losses.divisions.first)
  }
}
