package import Mapping
import ObjectModel
package import Planning
import Schema
import Survey

/// The bytes that objects take which are made one by one: those of the source, with what new
/// properties add to them.
///
/// Mappings determine the maximum number of objects, not how many a filter takes or a policy makes.
package struct ObjectSizes: Sendable {
  /// All that the finished store takes.
  package let result: Int64
  /// All shards together, which have every object of it, and their other files.
  package let shards: Int64

  /// Estimates the sizes for a plan of a stage that goes object by object.
  ///
  /// - Parameter sourceBytes: the source with its `-wal` and the files whose values come in.
  package init(
    of mappings: [MappingModel], plan: MigrationPlan, stage: StageInput, sourceBytes: Int64
  ) {
    let (old, new) = (stage.survey.model, stage.schema.model)
    var growth = 0.0
    var whole: Set<String> = []
    let mean = Double(sourceBytes) / Double(max(1, stage.survey.rowCounts.estimatedTotal))
    for mapping in mappings.flatMap(\.entityMappings) {
      // Of values and of all objects there are few.
      if let objects = mapping.newObjects, objects.pairRelationship == nil { continue }
      guard let name = mapping.sourceEntityName, let source = old.entity(name: name),
        let destination = mapping.destinationEntityName.flatMap({ new.entity(name: $0) })
      else { continue }
      let added = Self.bytes(of: destination, in: new) - Self.bytes(of: source, in: old)
      let objects = Double(stage.survey.count(of: name))
      growth += objects * max(0, added)
      // Of an object that two mappings take there are two.
      if mapping.takesAll, !whole.insert(name).inserted { growth += objects * mean }
    }
    result =
      sourceBytes + Int64(growth) + ResultSizes.others(in: stage.schema, of: stage.survey)
    shards = result + Int64(plan.workOrders.count) << 20
  }

  /// The bytes that properties add to an object, those of texts and binary data as if they were
  /// short.
  private static func bytes(of entity: Entity, in model: ManagedObjectModel) -> Double {
    let attributes = model.allLeafAttributes(of: entity).filter { !$0.isTransient }
    let references = model.allRelationships(of: entity).filter { !$0.isToMany && !$0.isTransient }
    return attributes.reduce(0) { $0 + 1 + DeclaredType(of: $1.type).usualLength }
      + Double(references.count) * bytesOfReference
  }

  /// A key with its type, and an entry of the index that each such column has.
  private static let bytesOfReference = 18.0
}
