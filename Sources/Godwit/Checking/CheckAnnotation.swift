import ModelFiles
public import SystemPackage

extension CheckReport {
  /// Something that a check found, at the line of the model that it is about.
  public struct Annotation: Hashable, Sendable {
    /// How grave it is.
    public enum Level: String, Hashable, Sendable, CaseIterable {
      /// A store cannot be migrated, or a released version is not as it was.
      case error
      /// A store loses data.
      case warning
    }

    /// A line of a model source.
    public struct Place: Hashable, Sendable {
      /// The file `contents` of a version, or the bundle.
      public var file: FilePath
      /// The line, from 1.
      public var line: Int
    }

    /// How grave it is.
    public var level: Level
    /// What is found, by a name that programs know: the cause of a refusal, `loss`, `store`, or the
    /// kind of a problem with released versions.
    public var rule: String
    /// Where it is declared; nil where no source of the model is known, or it has no place in it.
    public var place: Place?
    /// The entity, or `Entity.property`; nil if there is none.
    public var name: String?
    /// What was found and what to do, with the first store that it is about.
    public var message: String
    /// The stores that it is about.
    public var stores: [String]
    /// Whether other stores have other numbers of objects than those in the message.
    public var hasOtherNumbers = false
  }

  /// Reasons against migrations, losses and problems with released versions, each once for all
  /// stores, with the line of the model where the entity or the property is declared.
  ///
  /// What the new version does not declare any more stands where its entity is declared, or where
  /// the store's version has it.
  ///
  /// - Parameter models: bundles besides the target with versions of the stores.
  public func annotations(models: [FilePath] = []) -> [Annotation] {
    var places = DeclarationPlaces(target: target, models: models)
    var list = AnnotationList()
    for finding in findings {
      for reason in finding.refusals {
        list.add(
          .init(
            level: .error, rule: reason.cause.name,
            place: places.place(reason.entity, reason.property, from: finding.from),
            name: Self.name(reason.entity, reason.property), message: reason.advised,
            stores: [finding.store]))
      }
      if finding.refusals.isEmpty, finding.exitStatus > 1 {
        list.add(
          .init(
            level: .error, rule: "store", message: finding.reasons.joined(separator: " "),
            stores: [finding.store]))
      }
      if let missing = finding.missingVersion {
        list.add(
          .init(
            level: .warning, rule: "missingVersion",
            place: places.place(ofVersion: missing.nearest),
            message: missing.sentence, stores: [finding.store]))
      }
      for loss in finding.isPossible ? finding.losses : [] {
        list.add(
          .init(
            level: .warning, rule: "loss",
            place: places.place(loss.entity, loss.property, from: finding.from), name: loss.name,
            message: "loses \(loss)", stores: [finding.store]))
      }
    }
    for problem in releasedVersions?.problems ?? [] {
      list.add(
        .init(
          level: guardsVersions && !problem.kind.isHarmless ? .error : .warning,
          rule: problem.kind.rawValue,
          place: places.place(of: problem), message: problem.sentence, stores: []))
    }
    return list.annotations
  }

  private static func name(_ entity: String?, _ property: String?) -> String? {
    entity.map { entity in property.map { "\(entity).\($0)" } ?? entity }
  }
}

extension CheckReport.Annotation {
  /// An error that prevents the check of every store, such as a damaged model.
  public init(model failure: MigrationFailure) {
    self.init(
      level: .error, rule: "model",
      place: failure.file.map { .init(file: $0, line: failure.line ?? 1) },
      message: failure.sentences.joined(separator: " "), stores: [])
  }
}

extension MigrationFailure.Reason {
  /// The description, with what to do.
  fileprivate var advised: String {
    guard coreDataCode == nil, let advice, !description.contains(advice) else {
      return description
    }
    return "\(description) To migrate anyway, \(advice)."
  }
}

/// Annotations, those that differ in their stores alone as one.
private struct AnnotationList {
  private(set) var annotations: [CheckReport.Annotation] = []
  private var indexes: [Key: Int] = [:]

  private struct Key: Hashable {
    var level: CheckReport.Annotation.Level
    var rule: String
    var place: CheckReport.Annotation.Place?
    var name: String?
    var message: String
  }

  mutating func add(_ annotation: CheckReport.Annotation) {
    // Without a name, the message is what it is about; with one, it has counts of one store.
    let key = Key(
      level: annotation.level, rule: annotation.rule, place: annotation.place,
      name: annotation.name, message: annotation.name == nil ? annotation.message : "")
    if let index = indexes[key] {
      annotations[index].stores += annotation.stores
      if annotations[index].message != annotation.message {
        annotations[index].hasOtherNumbers = true
      }
    } else {
      indexes[key] = annotations.count
      annotations.append(annotation)
    }
  }
}

/// Where the sources of a model declare entities and properties.
private struct DeclarationPlaces {
  private let bundles: [ModelBundle]
  private let current: [ModelVersion]
  private var read: [FilePath: DeclarationLines?] = [:]

  init(target: [FilePath], models: [FilePath]) {
    func bundle(_ path: FilePath) -> ModelBundle? {
      HeldStore.isStore(path) ? nil : try? ModelBundle(path)
    }
    let targets = target.compactMap(bundle)
    current = targets.compactMap { try? $0.current() }
    bundles = (targets + models.compactMap(bundle)).map { found in
      (try? ModelBundle(ModelBundle.enclosing(found.path))) ?? found
    }
  }

  /// Where a property or an entity is declared: in the new version, else its entity there, else in
  /// the version of a store.
  mutating func place(
    _ entity: String?, _ property: String?, from names: [String]
  ) -> CheckReport.Annotation.Place? {
    let old = bundles.flatMap(\.versions).filter { names.contains($0.name) }
    for lines in (current + old).compactMap({ lines(of: $0) }) {
      guard let entity else { break }
      if let property, let line = lines.line(ofProperty: property, of: entity) {
        return .init(file: lines.file, line: line)
      }
      if let line = lines.line(ofEntity: entity) { return .init(file: lines.file, line: line) }
    }
    return current.compactMap { lines(of: $0) }.first.map { .init(file: $0.file, line: 1) }
  }

  /// The first line of a version's source, or of the current one.
  mutating func place(ofVersion name: String?) -> CheckReport.Annotation.Place? {
    let named = bundles.flatMap(\.versions).filter { $0.name == name }
    return (named + current).compactMap { lines(of: $0) }.first.map {
      .init(file: $0.file, line: 1)
    }
  }

  /// The place of the version with the problem; the bundle if the version is gone, or if the
  /// problem is the current version.
  mutating func place(of problem: VersionLock.Problem) -> CheckReport.Annotation.Place? {
    guard let bundle = bundles.first else { return nil }
    let version = bundle.versions.first { $0.name == problem.version }
    switch problem.kind {
    case .deleted: return .init(file: bundle.path, line: 1)
    case .noCurrent where problem.version.isEmpty: return .init(file: bundle.path, line: 1)
    case .notCurrent, .turnedBack, .noCurrent:
      return .init(file: bundle.path.appending(".xccurrentversion"), line: 1)
    case .renamed:
      let renamed = bundle.versions.first { problem.others.contains($0.name) }
      return .init(file: renamed.flatMap { lines(of: $0)?.file } ?? bundle.path, line: 1)
    case .edited, .renamingIdentifier, .alike, .severalNew:
      guard let lines = version.flatMap({ lines(of: $0) }) else {
        return .init(file: bundle.path, line: 1)
      }
      let found = problem.editedPlaces.lazy.compactMap { entity, property in
        property.flatMap { lines.line(ofProperty: $0, of: entity) } ?? lines.line(ofEntity: entity)
      }.first
      return .init(file: lines.file, line: found ?? 1)
    }
  }

  private mutating func lines(of version: ModelVersion) -> DeclarationLines? {
    if let known = read[version.path] { return known }
    let found = try? DeclarationLines(of: version)
    read[version.path] = .some(found)
    return found
  }
}
