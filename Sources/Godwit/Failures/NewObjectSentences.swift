import Mapping
import ObjectMigration

extension StoreMigration {
  /// Objects that the source does not have and an entity mapping makes.
  public struct NewObjects: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// The name of the entity mapping.
    public var mapping: String
    /// The destination entity.
    public var entity: String
    /// How many there are; nil where only the migration computes it.
    public var objects: Int64?
    /// Whether there may be fewer.
    public var isMost: Bool
    private let unit: String

    private enum CodingKeys: CodingKey { case mapping, entity, objects, isMost }

    init(_ core: NewObjectCount) {
      (mapping, entity, objects, isMost) = (core.mapping, core.entity, core.count, core.isMost)
      unit =
        switch core.objects.unit {
        case .pair(let relationship): "one per pair of \(relationship)"
        case .value: "one per value"
        case .all: "one for all"
        }
    }

    /// The number of objects, their entity, mapping and source, as a sentence after "makes".
    public var description: String {
      let count = objects.map { (isMost ? "at most " : "") + "\(CountText($0, "object"))" }
      return "\(count ?? "objects") of \(entity) by \(mapping), \(unit)."
    }
  }
}
