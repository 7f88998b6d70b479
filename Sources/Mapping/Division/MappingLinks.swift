import Expressions
package import ObjectModel

/// Something that ties an entity mapping to another one.
package struct MappingLink: Hashable, Sendable {
  /// What makes a link.
  package enum Cause: Hashable, Sendable {
    /// A value expression refers to objects that the other mapping made of source objects.
    case association
    /// No value expression fills the relationship, but a migration policy may.
    case policy
    /// Both mappings name the same migration policy, which may share look-ups between them.
    case samePolicy(String)
  }

  /// What makes the link.
  package var cause: Cause
  /// The name of the mapping.
  package var mapping: String
  /// Its destination property; nil where the two share a policy.
  package var property: String?
  /// The name of the other mapping.
  package var other: String

  /// Links a mapping to another, which need not exist.
  package init(cause: Cause, mapping: String, property: String?, other: String) {
    self.cause = cause
    self.mapping = mapping
    self.property = property
    self.other = other
  }
}

/// Finds what ties the mappings of one or several mapping models to each other.
package struct MappingLinks {
  /// Links within one mapping and to mappings that do not exist are left out.
  package private(set) var links: [MappingLink] = []
  /// Names in value expressions that no mapping has, with their place.
  package private(set) var missing: [MappingLink] = []

  private let mappings: [EntityMapping]
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel

  /// Takes the mappings, of one mapping model or of all that run in one step.
  package init(
    mappings: [EntityMapping], source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    self.mappings = mappings
    self.source = source
    self.destination = destination
    findAssociations()
    findPolicies()
    var seen: Set<MappingLink> = []
    links = links.filter { $0.mapping != $0.other && seen.insert($0).inserted }
  }

  private mutating func findAssociations() {
    let names = Set(mappings.map(\.name))
    for mapping in mappings {
      findNewObjects(of: mapping)
      for property in mapping.attributeMappings + mapping.relationshipMappings {
        guard let expression = property.valueExpression else { continue }
        for call in ManagerCalls(in: expression).calls {
          for name in targets(of: call, property: property.name, in: mapping) {
            let link = MappingLink(
              cause: .association, mapping: mapping.name, property: property.name, other: name)
            if names.contains(name) { links.append(link) } else { missing.append(link) }
          }
        }
      }
    }
  }

  /// What new objects are related to, and what a relationship is sorted by.
  private mutating func findNewObjects(of mapping: EntityMapping) {
    let sorted = mapping.relationshipMappings.filter { !$0.sortedBy.isEmpty }.map(\.name)
    var others = ((mapping.newObjects?.relationships ?? []) + sorted).flatMap { property in
      destinationTargets(of: property, in: mapping).map { (property, $0) }
    }
    if let objects = mapping.newObjects, objects.findsExisting, let attribute = objects.attribute,
      let entity = mapping.destinationEntityName
    {
      others += mappings.filter { destination.isKind($0.destinationEntityName, of: entity) }
        .map { (attribute, $0.name) }
    }
    links += others.map {
      MappingLink(cause: .association, mapping: mapping.name, property: $0.0, other: $0.1)
    }
  }

  private func targets(
    of call: ManagerCalls.Call, property: String, in mapping: EntityMapping
  ) -> [String] {
    switch call {
    case .mapping(let name?): return [name]
    case .relationship(let name?):
      guard let entity = mapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
        let relationship = source.relationship(named: name, of: entity)
      else { return destinationTargets(of: property, in: mapping) }
      return mappings.filter {
        $0.newObjects == nil
          && source.isKind($0.sourceEntityName, of: relationship.destinationEntityName)
      }.map(\.name)
    case .mapping(nil), .relationship(nil): return destinationTargets(of: property, in: mapping)
    }
  }

  /// The mappings that yield objects which the destination relationship can hold.
  private func destinationTargets(of property: String, in mapping: EntityMapping) -> [String] {
    guard let entity = mapping.destinationEntityName.flatMap({ destination.entity(name: $0) }),
      let relationship = destination.relationship(named: property, of: entity)
    else { return [] }
    return mappings.filter {
      destination.isKind($0.destinationEntityName, of: relationship.destinationEntityName)
    }.map(\.name)
  }

  /// What a policy creates beyond its own entity, it may relate too.
  private mutating func findPolicies() {
    var open = mappings.filter { $0.migrationPolicyClassName != nil }
    var done = Set(open.map(\.name))
    while let mapping = open.popLast() {
      for relationship in mapping.relationshipMappings where isPolicysBusiness(relationship) {
        for name in destinationTargets(of: relationship.name, in: mapping) {
          links.append(
            MappingLink(
              cause: .policy, mapping: mapping.name, property: relationship.name, other: name))
          let created = mappings.filter { $0.name == name && $0.sourceEntityName == nil }
          for other in created where done.insert(other.name).inserted { open.append(other) }
        }
      }
    }
    var firsts: [String: String] = [:]
    for mapping in mappings {
      guard let policy = mapping.migrationPolicyClassName else { continue }
      guard let first = firsts[policy] else {
        firsts[policy] = mapping.name
        continue
      }
      links.append(
        MappingLink(cause: .samePolicy(policy), mapping: first, property: nil, other: mapping.name))
    }
  }

  private func isPolicysBusiness(_ property: PropertyMapping) -> Bool {
    guard let expression = property.valueExpression else { return true }
    return ManagerCalls(in: expression).calls.isEmpty
  }
}

/// The calls in an expression that request destination objects from the migration manager.
struct ManagerCalls {
  enum Call: Hashable {
    /// By the mapping's name; nil where the name is computed.
    case mapping(String?)
    /// By the source relationship's name; nil where the name is computed.
    case relationship(String?)
  }

  private(set) var calls: [Call] = []
  /// Whether the expression may see more of the destination than what its calls name.
  private(set) var reachesBeyond = false

  /// Keys of the manager that lead to nothing of the destination.
  private static let harmlessKeys: Set<String> = [
    "sourceContext", "currentEntityMapping", "migrationProgress",
  ]

  init(in expression: ValueExpression) { walk(expression) }

  private mutating func walk(_ expression: ValueExpression) {
    switch expression {
    case .variable(let name): if name == "manager" { reachesBeyond = true }
    case .keyPath(.variable("manager")?, let path):
      let key = path.prefix { $0 != "." }
      if !Self.harmlessKeys.contains(String(key)) { reachesBeyond = true }
    case .function(let operand, let selector, let arguments):
      note(selector, arguments: arguments)
      if operand != .variable("manager") { walk(operand) }
      for argument in arguments { walk(argument) }
    default: for part in expression.parts { walk(part) }
    }
  }

  private mutating func note(_ selector: String, arguments: [ValueExpression]) {
    var name: String?
    if case .constant(.string(let text))? = arguments.first { name = text }
    switch selector {
    case MappingSelector.byMapping:
      calls.append(.mapping(name))
      // A computed name may be that of any mapping.
      if name == nil { reachesBeyond = true }
    case MappingSelector.byRelationship: calls.append(.relationship(name))
    case MappingSelector.fetchRequest: break
    default: reachesBeyond = true
    }
  }
}
