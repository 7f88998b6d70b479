import Expressions
package import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import SystemPackage

extension MigrationFailure {
  init(_ error: MappingFileError) {
    let file = error.file.map { "\($0)" } ?? "the mapping model"
    let line = error.line.map { ", line \($0)" } ?? ""
    let place = [error.mapping, error.property].compactMap(\.self).joined(separator: ".")
    let at = "\(file)\(line)\(place.isEmpty ? "" : ": \(place)")"
    switch error.problem {
    case .damaged(.notFound):
      self.init(missing: file)
    case .damaged(.specialFile): self.init(specialFile: file)
    case .damaged(.unreadable(let errno)):
      self.init(unreadable: file, errno)
    case .unknownForm:
      self.init(
        .usage,
        "\(file) is not a mapping model: name an .xcmappingmodel, a .cdm or a .json file.")
    case .badExpression(let format), .badPredicate(let format):
      self.init(
        .damaged,
        "\(at): \(format.problem), at column \(format.column) of: \(format.text)")
    case .entityMissing(let side, let entity):
      self.init(
        .damaged,
        "\(at): the \(side.rawValue) model has no entity \(entity); create the mapping model "
          + "again.")
    case .embeddedModel(let side, let problem):
      self.init(
        .damaged,
        "\(file) embeds a \(side.rawValue) model that cannot be read (\(problem.words)), and none "
          + "exists at its recorded path: put the model next to it.")
    default: self.init(.damaged, "\(at): \(Self.text(error: error)); check the file.")
    }
    self.file = error.file
  }

  private static func text(error: MappingFileError) -> String {
    let column = error.column.map { ", column \($0)" } ?? ""
    switch error.problem {
    case .notAMappingModel: return "this is not a mapping model"
    case .incomplete(let object, let key): return "\(object) lacks \(key)"
    case .danglingReference(let object, let key): return "\(key) of \(object) refers to nothing"
    case .badValue(let key, let value): return "\(value) is not a value of \(key)"
    case .duplicateMapping: return "another mapping has this name"
    case .unsupportedUserInfo(let key):
      return "\(key) of the user info is neither text, a number, a date nor bytes"
    case .notJSON(let reason): return "this is not JSON: \(reason)\(column)"
    case .unknownKey(let key): return "the key \(key) is not known here"
    case .wrongKind(let key, let expected): return "\(key) must be \(expected)"
    case .unsupportedVersion(let version):
      return "version \(version.isEmpty ? "missing" : version) of the format is not known"
    case .noText(let text): return "\(text) cannot be written as an expression"
    case .damaged(let problem): return problem.words
    default: return "it cannot be read"
    }
  }
}

extension MappingNote {
  /// The part and its effect, as a sentence.
  var sentence: String {
    let place = [mapping, property].compactMap(\.self).joined(separator: ".")
    let text =
      switch kind {
      case .namesNoEntity: "the entity mapping names no entity and is skipped"
      case .unknownField: "the field \(field ?? "") is not known and is skipped"
      case .makesNoObjects:
        "it gives attributes values but has no source, so it makes no objects: name a source, or "
          + "set onePer"
      }
    return place.isEmpty ? "\(text)." : "\(place): \(text)."
  }
}

extension MappingProblem {
  /// What a mapping refers to and does not exist, as a sentence.
  package var sentence: String {
    let place = [mapping, property].compactMap(\.self).joined(separator: ".")
    return "\(place): \(text)"
  }

  private var text: String {
    switch reason {
    case .entityMissing(let side, let entity):
      "the \(side.rawValue) model has no entity \(entity)."
    case .propertyMissing(let entity): "\(entity) has no such property."
    case .sourcePropertyMissing(let entity, let property):
      "it reads \(property), which \(entity) of the source model does not have."
    case .mappingMissing(let name):
      "it refers to objects of the entity mapping \(name), which does not exist."
    case .notMadeFrom(let source, let holding):
      "it holds objects of \(holding), but no entity mapping makes them from \(source)."
    case .filledTwice: "onePer fills it, and the mapping fills it again; remove one of the two."
    case .memberOutsidePair: "$member has a value only where onePer has pairIn."
    case .abstractDestination(let entity):
      "the destination entity \(entity) is abstract, and objects need a concrete one: name a "
        + "concrete entity, or remove the mapping."
    case .abstractSource(let entity, let concrete):
      "its source \(entity) is abstract, so onePer has no objects to start from: "
        + (concrete.isEmpty
          ? "name a concrete entity."
          : "write a mapping for each concrete entity (\(ListText(concrete))).")
    case .notOrdered(let entity):
      "sortedBy needs an ordered to-many relationship, and that of \(entity) is not ordered."
    case .sortKeyMissing(let entity, let key):
      "it is sorted by \(key), which is not a sortable attribute of \(entity)."
    case .predicateUnreadable(let error):
      "its predicate cannot be read: \(error.problem), at column \(error.column) of: "
        + "\(error.text)."
    case .valueless(let error): "its expression has no value: \(error)."
    case .pathFromNothing(let path):
      "it reads \(path) without an object: write \"\(path)\" in quotation marks for a text, or "
        + "$source.\(path) for a property of the source object."
    case .valuePropertyMissing(let value, let key):
      "it reads \(key), which \(value.kindName) does not have."
    case .constantRefused(let value, let entity, let type, let unfit):
      switch unfit {
      case .kind:
        "\(value.shown) is not a value of \(attribute(of: entity)), which is \(type.phrase)."
      case .range:
        "\(value.shown) is out of range for \(attribute(of: entity)), which is \(type.phrase)."
      }
    case .castRefused(.string, to: "NSDate"):
      "a text cannot be cast to NSDate: use date(…, \"yyyy-MM-dd\") with the format of the texts."
    case .castRefused(let value, let name): "\(value.kindName) cannot be cast to \(name)."
    case .kindRefused(let value, let entity, let type):
      "its expression yields \(value.kindName), but \(attribute(of: entity)) is \(type.phrase): "
        + "convert it (docs/reference/expressions.md)."
    case .notOneValue(let kind, let entity, let type):
      "its expression yields \(kind), but \(attribute(of: entity)) has one value, which is "
        + "\(type.phrase)."
    case .constantForObjects(let value, let destination):
      "it gets \(value.shown) instead of objects of \(destination)."
    case .ownInverse(let name):
      "it is its own inverse, and \(name) is not: make its objects by a policy, which decides on "
        + "both ends."
    }
  }

  private func attribute(of entity: String) -> String {
    [entity, property].compactMap(\.self).joined(separator: ".")
  }
}

extension AttributeType {
  /// The name of the type with its article.
  fileprivate var phrase: String {
    switch self {
    case .integer16, .integer32, .integer64, .undefined, .objectID: "an \(name)"
    default: "a \(name)"
    }
  }
}

extension MappingCheck {
  /// The mappings of objects to an abstract entity, one sentence each.
  package var abstractSentences: [String] {
    problems.filter { if case .abstractDestination = $0.reason { true } else { false } }
      .map(\.sentence)
  }

  /// The mandatory attributes that get no value, one sentence each.
  package var openSentences: [String] {
    valuesLeftOut.map {
      "\($0.mapping).\($0.attribute): \($0.entity).\($0.attribute) is mandatory and has no default, "
        + "and the mapping gives it no value: fill in an expression."
    }
  }
}

extension MappingMismatch {
  /// What does not fit the version, as a sentence.
  package var sentence: String {
    switch reason {
    case .entityMissing: "\(mapping): the \(side.rawValue) model has no entity \(entity)."
    case .hashDiffers(let expected, let found):
      "\(mapping): the \(side.rawValue) entity \(entity) has another version (\(found.short)) than "
        + "the mapping was made for (\(expected.short))."
    case .entityChanged(let differences):
      "\(mapping): the \(side.rawValue) entity \(entity) changed since the mapping was made: "
        + differences.map(\.phrase).joined(separator: ", ") + "."
    case .propertyMissing(let property):
      "\(mapping).\(property): the \(side.rawValue) entity \(entity) has no such property."
    }
  }
}

extension VersionHash {
  fileprivate var short: String { String(hexadecimal.prefix(8)) }
}

extension EntityDifference {
  fileprivate var phrase: String {
    switch self {
    case .isAbstract(_, let now): "it is \(now ? "abstract" : "no longer abstract")"
    case .superentity(let old, let now):
      "its superentity is \(now ?? "none") and was \(old ?? "none")"
    case .versionHashModifier(let old, let now):
      "its hash modifier is \(now ?? "none") and was \(old ?? "none")"
    case .uniquenessConstraints(let old, let now):
      "its uniqueness constraints are \(Self.list(now)) and were \(Self.list(old))"
    case .propertyRemoved(let name): "\(name) is gone"
    case .propertyAdded(let name): "\(name) is new"
    case .property(let name, let aspect, let old, let now):
      "\(name): \(aspect.rawValue) is \(now.isEmpty ? "none" : now) and was "
        + "\(old.isEmpty ? "none" : old)"
    }
  }

  private static func list(_ constraints: [[String]]) -> String {
    constraints.isEmpty
      ? "none" : constraints.map { $0.joined(separator: "+") }.joined(separator: " and ")
  }
}

extension MappingLink {
  /// What connects two mappings, as a sentence.
  package var sentence: String {
    switch cause {
    case .association: "\(mapping).\(property ?? "") refers to objects of \(other)."
    case .policy:
      "\(mapping).\(property ?? "") leads to objects of \(other), and a migration policy may set "
        + "it."
    case .samePolicy(let policy): "\(mapping) and \(other) share the migration policy \(policy)."
    }
  }
}

extension MappingSetProblem {
  /// What contradicts, and how to repair it, as a sentence.
  package var sentence: String {
    let piece = piece.map { "\($0): " } ?? ""
    switch reason {
    case .notCovered(let side, let entity):
      return "the \(side.rawValue) entity \(entity) has no mapping: add one."
    case .removed(let entity):
      return "the source entity \(entity), which the destination model lacks: its objects are "
        + "dropped."
    case .pairsLeftOut(let mapping, let entity, let relationship):
      return
        "the pairs of \(entity).\(relationship), which \(mapping) does not take: add a mapping "
        + "with source \(entity) and pairIn \(relationship)."
    case .coveredTwice(let mapping, let otherPiece, let other):
      return "\(piece)\(mapping) makes the same objects as \(other) of \(otherPiece): leave one "
        + "out, or give both filters that exclude each other."
    case .related(let link, let otherPiece):
      return "\(piece)\(link.mapping).\(link.property ?? "") refers to objects of \(link.other) of "
        + "\(otherPiece): put both in one mapping model, or relate them by a stored key."
    case .mappingMissing(let link):
      return "\(piece)\(link.mapping).\(link.property ?? "") refers to the mapping \(link.other), "
        + "which does not exist: check the name."
    }
  }
}

// Failures of commands on files of mapping models, and of expressions given by themselves.
extension MigrationFailure {
  init(setting text: String, _ problem: ValueSetting.Problem) {
    switch problem {
    case .form:
      self.init(
        .usage,
        "\(option: .set) \(text) is not valid: write Entity.property=EXPRESSION, such as "
          + "'Item.id=uuid()'.")
    case .expression(let format):
      self.init(
        .usage,
        "\(option: .set) \(text): \(format.problem), at column \(format.column) of: \(format.text)")
    case .repeated:
      self.init(
        .usage,
        "\(option: .set) \(text): the property has another expression already: leave one of them out."
      )
    }
  }

  init(unknownSettings names: [String], target: ManagedObjectModel) {
    for name in names {
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, let entity = target.entity(name: parts[0]),
        let attribute = target.leafAttribute(named: parts[1], of: entity)
      else { continue }
      let reason =
        attribute.isTransient
        ? "is transient, so a store has no value of it"
        : "is derived, so Core Data computes its value"
      self.init(.usage, "\(option: .set) names \(name), which \(reason): leave it out.")
      return
    }
    let known = names.compactMap { name in
      target.entity(name: String(name.prefix { $0 != "." }))
    }.flatMap { entity in
      target.allLeafAttributes(of: entity).filter(\.isSettable).map { "\(entity.name).\($0.name)" }
    }.sorted()
    let others = known.isEmpty ? target.entities.map(\.name).sorted() : known
    self.init(
      .usage,
      "\(option: .set) names \(ListText(names)), and no version on the route has such an "
        + "attribute; there are \(ListText(others, most: 40)).")
  }

  init(foreign path: FilePath) {
    self.init(
      .cannotCreate, kind: .fileExists,
      "\(path) exists and is not a mapping model, so it is not replaced: name another file.")
  }

  init(unsplittable path: FilePath?, links: [MappingLink]) {
    self.init(
      .impossible, kind: .mappingModelUnusable,
      ["\(Self.name(path: path)) cannot be split, because everything in it is related:"]
        + links.map(\.sentence))
  }

  init(path: FilePath?, model: FilePath, mismatches: [MappingMismatch]) {
    self.init(
      .impossible, kind: .mappingModelUnusable,
      ["\(Self.name(path: path)) was not made for \(model):"]
        + mismatches.map(\.sentence))
  }

  init(contradictions: [MappingSetProblem]) {
    self.init(
      .impossible, kind: .mappingModelUnusable,
      ["these mapping models do not make one migration:"] + contradictions.map(\.sentence))
  }

  /// Describes what a mapping model names and does not exist, and values that cannot be.
  init(path: FilePath?, problems: [String]) {
    self.init(
      .impossible, kind: .mappingModelUnusable,
      ["\(Self.name(path: path)) cannot be used:"] + problems)
  }

  init(modelMissing side: MappingModelFile.Side, path: FilePath?) {
    self.init(
      .usage,
      "\(path.map { "\($0)" } ?? "The mapping model") does not contain its \(side.rawValue) model: "
        + "name it.")
  }

  private static func name(path: FilePath?) -> String {
    path.map { "\($0)" } ?? "the mapping model"
  }
}
