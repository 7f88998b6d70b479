import Mapping
import ObjectModel
import Testing

extension MappingLosses {
  /// The division of an entity by mappings with these filters, of which all but the first read `n`.
  static func division(
    _ filters: [String], of entity: String, in model: ManagedObjectModel
  ) throws -> Division {
    let mappings = filters.enumerated().map { place, filter in
      var mapping = EntityMapping(
        name: "Item\(place)", kind: .transform, source: entity, destination: entity)
      mapping.sourceExpression = .sourceObjects(of: entity, where: filter)
      mapping.attributeMappings =
        place == 0 ? [] : [PropertyMapping(name: "n", valueExpression: .source(name: "n"))]
      return mapping
    }
    let losses = MappingLosses(
      models: [MappingModel(entityMappings: mappings)], source: model, destination: model)
    return try #require(losses.divisions.first)
  }
}
