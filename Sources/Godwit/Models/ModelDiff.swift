import Mapping
import MigrationCoordinator
import ModelFiles
import ObjectModel
import Planning
public import SystemPackage

/// The differences of two models, and whether a store of the first can be migrated to the second.
///
/// ```swift
/// let diff = try ModelDiff(from: "Shop.xcdatamodeld/Shop 1.xcdatamodel", to: "Shop.xcdatamodeld")
/// for line in diff.lines { print(line) }
/// ```
public struct ModelDiff: Hashable, Sendable, Encodable {
  /// One aspect that differs.
  public struct Change: Hashable, Sendable, Encodable {
    /// The aspect in words, such as `type` or `delete rule`.
    public var aspect: String
    /// The value in the first model, nil for none.
    public var old: String?
    /// The value in the second model, nil for none.
    public var new: String?
  }

  /// A property, an index or a uniqueness constraint that differs.
  public struct Part: Hashable, Sendable, Encodable {
    /// `attribute`, `relationship`, `fetchedProperty`, `index` or `constraint`.
    public var kind: String
    /// The name in the second model, in the first if it is lost.
    public var name: String
    /// The other name in the first model, nil if there is none.
    public var oldName: String?
    /// `changed`, `renamed`, `new` or `lost`.
    public var fate: String
    /// By what the two names belong together, `name` or `renamingIdentifier`; nil for one name.
    public var pairing: String?
    /// What differs; of what is new or lost, what it is.
    public var changes: [Change]
  }

  /// An entity that differs.
  public struct Entity: Hashable, Sendable, Encodable {
    /// The name in the second model, in the first if it is lost.
    public var name: String
    /// The other name in the first model, nil if there is none.
    public var oldName: String?
    /// `changed`, `renamed`, `new` or `lost`.
    public var fate: String
    /// By what the two names belong together, `name` or `renamingIdentifier`; nil for one name.
    public var pairing: String?
    /// What of the entity itself differs; of a new or lost one, what it is.
    public var changes: [Change]
    /// What of its properties, indexes and constraints differs.
    public var parts: [Part]
  }

  /// Whether a lightweight migration is possible, as far as the models show.
  public struct Inference: Hashable, Sendable, Encodable {
    /// Whether nothing in the models stands against it.
    public var isPossible: Bool
    /// All reasons in the models against it, a sentence each.
    public var refusals: [String]
    /// What it demands of the objects of a store, a sentence each.
    public var conditions: [String]
  }

  private var version = 1
  private var kind = "models"
  /// The path of the first model.
  public private(set) var first: String
  /// The path of the second model.
  public private(set) var second: String
  /// Whether nothing differs.
  public private(set) var isAlike: Bool
  /// Whether stores of the first model need a migration; nil if a version hash is not known.
  public private(set) var needsMigration: Bool?
  /// What belongs to no entity and differs: identifiers, configurations, fetch request templates.
  public private(set) var changes: [Change]
  /// The entities that differ.
  public private(set) var entities: [Entity]
  /// The names of those that do not.
  public private(set) var same: [String]
  /// Whether a mapping can be inferred; nil if no migration is needed.
  public private(set) var inference: Inference?
  /// The versions of the way along which they are compared, both ends included; empty where they
  /// are compared at once.
  public private(set) var way: [String] = []
  /// The parts of either model that version hashes cover and that could not be read, one sentence
  /// each.
  public private(set) var notCompared: [String] = []

  /// Compares two models.
  ///
  /// - Parameters:
  ///   - first: a bundle (its current version), a version, a folder or application with one, or a
  ///     store (its own model).
  ///   - second: the same for the model with which it is compared.
  ///   - models: places to search for the models of stores, besides the stores themselves.
  /// - Throws: `MigrationFailure`, if one of them cannot be read.
  public init(from first: FilePath, to second: FilePath, models: [FilePath] = [])
    throws(MigrationFailure)
  {
    self = try MigrationFailure.catching {
      func model(_ path: FilePath) throws -> ManagedObjectModel {
        HeldStore.isStore(path)
          ? try HeldStore(path, models: models).model : try ModelBundle(path).current().model()
      }
      let (old, new) = (try model(first), try model(second))
      let steps = Self.route(from: old, to: new, at: second, others: [first] + models)
      return ModelDiff(first, old, second, new, along: steps)
    }
  }

  /// The steps that a migration would take between two models, over versions of their bundles; none
  /// where it would take one, or where no way is known.
  static func route(
    from old: ManagedObjectModel, to new: ManagedObjectModel, at target: FilePath,
    others places: [FilePath]
  ) -> [MigrationRoute.Step] {
    guard let hashes = try? old.versionHashes(), let others = try? new.versionHashes(),
      hashes != others
    else { return [] }
    var request = MigrationRequest(store: target, target: [target], workers: 1, memory: 64 << 20)
    request.models = places.filter { !HeldStore.isStore($0) }
    let found = try? FoundRoute(
      request, from: RouteVersion(names: [], model: old, hashes: hashes),
      to: RouteVersion(names: [], model: new, hashes: others))
    return found?.route.steps ?? []
  }

  init(
    _ first: FilePath, _ old: ManagedObjectModel, _ second: FilePath, _ new: ManagedObjectModel,
    along steps: [MigrationRoute.Step] = []
  ) {
    (self.first, self.second) = ("\(first)", "\(second)")
    let isWay = steps.count > 1 || steps.contains { !$0.mappings.isEmpty }
    var comparison =
      isWay
      ? ModelComparison(along: steps.map(\.compared)) : ModelComparison(from: old, to: new)
    if isWay, let start = steps.first?.source {
      way = ([start] + steps.map(\.destination)).map { "\(VersionText($0.labels))" }
    }
    // A store that was migrated keeps no class names (docs/reference/model-format.md).
    let hasClassless = [(first, old), (second, new)].contains { path, model in
      HeldStore.isStore(path) && model.entities.allSatisfy { $0.className == nil }
    }
    if hasClassless { comparison.removeClasses() }
    isAlike = comparison.isAlike
    notCompared = [(first, old), (second, new)].flatMap { $1.unreadHashedSentences(of: "\($0)") }
    changes = comparison.changes.map { Change($0) }
    entities = comparison.entities.map { Entity($0) }
    same = comparison.same
    if let hashes = try? old.versionHashes(), let others = try? new.versionHashes() {
      needsMigration = hashes != others
    }
    if needsMigration ?? !isAlike {
      let found = MappingInference(from: old, to: new)
      let refusals = InferredStep.refusals(from: old, to: new)
      inference = Inference(
        isPossible: refusals.isEmpty, refusals: refusals.map(\.sentence),
        conditions: (found.conditions + found.newMandatoryReferences).map(\.sentence))
    }
  }
}

extension ModelDiff.Change {
  fileprivate init(_ change: ModelComparison.Change) {
    (aspect, old, new) = (change.aspect, change.old, change.new)
  }
}

extension ModelDiff.Part {
  fileprivate init(_ part: ModelComparison.Part) {
    (kind, name, oldName) = (part.kind.rawValue, part.name, part.oldName)
    (fate, pairing) = (part.fate.rawValue, part.pairing?.rawValue)
    changes = part.changes.map { .init($0) }
  }
}

extension ModelDiff.Entity {
  init(_ part: ModelComparison.EntityPart) {
    (name, oldName) = (part.name, part.oldName)
    (fate, pairing) = (part.fate.rawValue, part.pairing?.rawValue)
    changes = part.changes.map { .init($0) }
    parts = part.parts.map { .init($0) }
  }
}

extension Condition {
  /// What a migration demands of the objects of a store, as a sentence.
  fileprivate var sentence: String {
    let place = [destinationEntity, property].compactMap(\.self).joined(separator: ".")
    let text =
      switch demand {
      case .noObjects: "it is mandatory, new and has no default, so there may be no \(sourceEntity)"
      case .noObjectsLeftNil:
        "it is mandatory and gets no value, so there may be no \(sourceEntity)"
      case .noObjectsForDefault(let form):
        "its default value (\(form)) cannot be put into rows, so there may be no \(sourceEntity)"
      case .noObjectsOfAbstract: "it is abstract now, so there may be no \(sourceEntity)"
      case .noMissingValues(let attribute, _):
        "it is mandatory now, so every \(sourceEntity) must have a value of \(attribute)"
      case .noMissingReferences: "it is mandatory, so every object must have a destination"
      case .valuesFit(let attribute, let type):
        "the values of \(attribute) must fit \(type)"
      case .unique(let properties):
        "no two may have equal \(properties.joined(separator: ", "))"
      case .defaultsDiffer: "all get the same default value, so there may be one at most"
      case .singleObject(let relationship):
        "no \(sourceEntity) may have several objects in \(relationship)"
      case .singleOwner(let relationship):
        "no two \(sourceEntity) may share an object of \(relationship)"
      }
    return "\(place): \(text)."
  }
}
