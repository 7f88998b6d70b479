/// The types of the objects in a mapping document.
enum ObjectType {
  static let mappingModel = "XDDEVMAPPINGMODEL"
  static let entityMapping = "XDDEVENTITYMAPPING"
  static let attributeMapping = "XDDEVATTRIBUTEMAPPING"
  static let relationshipMapping = "XDDEVRELATIONSHIPMAPPING"
}

/// The fields of a mapping document's objects that have a known meaning.
enum DocumentFields {
  private static let known: [String: Set<String>] = [
    ObjectType.mappingModel: [
      "sourcemodelpath", "sourcemodeldata", "destinationmodelpath", "destinationmodeldata",
      "entitymappings",
    ],
    ObjectType.entityMapping: [
      "name", "sourcename", "destinationname", "mappingtypename", "mappingnumber",
      "autogenerateexpression", "migrationpolicyclassname", "sourcefilterpredicatestring",
      "userinfodata", "mappingmodel", "attributemappings", "relationshipmappings",
    ],
    ObjectType.attributeMapping: [
      "name", "autogenerateexpression", "valueexpressiondata", "userinfodata", "entitymapping",
    ],
    ObjectType.relationshipMapping: [
      "name", "autogenerateexpression", "valueexpressiondata", "userinfodata", "entitymapping",
      "sourcekeypath", "sourcemappingname",
    ],
  ]

  /// The fields that have a value and no known meaning, by name.
  static func unknown(in object: CoreDataDocument.Object) -> [String] {
    let known = known[object.type] ?? []
    let attributes = object.attributes.filter { !$0.value.isEmpty && !known.contains($0.key) }
    let relationships = object.relationships.filter {
      !$0.value.isEmpty && !known.contains($0.key)
    }
    return (Array(attributes.keys) + Array(relationships.keys)).sorted()
  }
}

/// A part of a mapping model's file that changes nothing in the mapping model that was read.
package struct MappingNote: Hashable, Codable, Sendable {
  /// A kind of such a part.
  package enum Kind: String, Hashable, Codable, Sendable {
    /// An entity mapping names neither a source nor a destination, and is skipped.
    case namesNoEntity
    /// An object has a field whose meaning is not known.
    case unknownField
    /// An entity mapping gives attributes values, and has no source objects.
    case makesNoObjects
  }

  /// The kind of the part.
  package var kind: Kind
  /// The name of a field that is not known.
  package var field: String?
  /// The name of the entity mapping.
  package var mapping: String?
  /// The destination property.
  package var property: String?

  init(_ kind: Kind, mapping: String? = nil, property: String? = nil) {
    (self.kind, self.mapping, self.property) = (kind, mapping, property)
  }

  init(unknownField field: String, mapping: String? = nil, property: String? = nil) {
    self.init(.unknownField, mapping: mapping, property: property)
    self.field = field
  }
}
