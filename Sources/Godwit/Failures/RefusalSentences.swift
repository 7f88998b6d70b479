import Mapping
import MigrationCoordinator
import ObjectModel
import Planning
import Schema
import Survey
import SystemPackage

/// A fact and what to do about it, the parts of a sentence.
struct Explanation: Hashable {
  var fact: String
  /// nil if the fact implies it, or if nothing can be done.
  var advice: String?

  /// Takes both parts, without the full stop of a sentence.
  init(_ fact: String, advice: String? = nil) { (self.fact, self.advice) = (fact, advice) }

  /// Both parts, with a mark between them and a full stop.
  func sentence(joinedBy mark: String) -> String {
    fact + (advice.map { "\(mark) \($0)" } ?? "") + "."
  }
}

extension Refusal {
  /// The place, the reason and what to do, and Core Data's code, as a sentence.
  package var sentence: String {
    var place = [entity, property].compactMap(\.self).joined(separator: ".")
    let text: String
    if case .mirroring(let obstacle) = reason {
      if case .option = obstacle {
        place = "\(choice: .cloudKit(.carry))"
      }
      text = obstacle.sentence
    } else {
      text = explanation.sentence(joinedBy: ";")
    }
    return "\(place): \(text) [\(code.rawValue)]"
  }

  /// The reason and what to do; of CloudKit, whose sentences are its own, nothing.
  var explanation: Explanation {
    switch reason {
    case .incompatibleTypes(let source, let destination):
      Explanation(
        "source and destination attribute types are incompatible (\(source), \(destination))",
        advice: "use a mapping model, \(textReading(source, destination))or give the attribute a "
          + "new name")
    case .attributeBecameRelationship:
      Explanation(
        "an attribute became a relationship",
        advice: "use a mapping model, or give one a new name")
    case .relationshipBecameAttribute:
      Explanation(
        "a relationship became an attribute",
        advice: "use a mapping model, or give one a new name")
    case .destinationEntityChanged(let source, let destination) where source == destination:
      Explanation(
        "its destination \(destination) does not continue the earlier entity of that name",
        advice: "use a mapping model")
    case .destinationEntityChanged(let source, let destination):
      Explanation(
        "its destination changed from \(source) to \(destination)", advice: "use a mapping model")
    case .hierarchiesMerged(let roots):
      Explanation(
        "\(roots.joined(separator: " and ")) would share one table and their keys would clash",
        advice: "use a mapping model")
    case .derivationCannotBeComputed:
      Explanation(
        "its derivation is new or changed, and only Core Data can compute it",
        advice: "leave it out for now")
    case .derivedValueNotKept(nil):
      Explanation(
        "only Core Data can compute it, and the mapping does not copy its values",
        advice: "copy them from the source, or leave the attribute out for now")
    case .derivedValueNotKept(let changed?):
      Explanation(
        "only Core Data can compute it, and the migration changes \(changed), from which it is "
          + "computed",
        advice: "leave the attribute or the change out for now")
    case .triggerCannotBeKept(let name):
      Explanation(
        "the trigger \(name) computes it in a form that only Core Data knows, and the migration "
          + "changes something that the trigger uses",
        advice: "leave the attribute or the change out for now")
    case .renamingAmbiguous(let identifier, let sources, let destinations):
      Explanation(
        "the renaming identifier \(identifier) matches \(sources.joined(separator: " and ")) with "
          + "\(destinations.joined(separator: " and ")), so it is ambiguous",
        advice: "give each its own identifier, or use a mapping model")
    case .storedFormUnknown(let form):
      Explanation("\(form) has no known stored form", advice: "leave it out for now")
    case .tableTooWide(let columns):
      Explanation(
        "with its subentities it needs a table of \(GroupedText(columns)) columns, and SQLite "
          + "allows \(GroupedText(StoreSchema.mostColumns))",
        advice: "move attributes to another entity")
    case .tableNameTaken(let table, let owners) where owners.count == 1:
      Explanation(
        "\(owners[0]) would have the table \(table), which is Core Data's own",
        advice: "give it another name")
    case .tableNameTaken(let table, let owners):
      Explanation(
        "\(ListText(owners)) would share the table \(table), and how Core Data names the second is "
          + "not known",
        advice: "give them names that differ by more than case")
    case .condition(let demand, let count, let keys):
      explanation(of: demand, count: count, keys: keys)
    case .externalFiles(let fault, let count, let keys, let names):
      Self.explanation(
        of: fault, values: Self.objects(count: count, keys: keys), names: names, count: count)
    case .relationshipForm:
      Explanation(
        "its stored form cannot be converted to the new one",
        advice: "use a mapping model")
    case .mirroring: Explanation("")
    }
  }

  /// So many objects, with their first keys.
  private static func objects(of entity: String? = nil, count: Int64, keys: [Int64]) -> String {
    let list = keys.map { "\($0)" }.joined(separator: ", ")
    return "\(CountText(count, "object")) \(entity.map { "of \($0) " } ?? "")"
      + "(Z_PK \(list)\(Int64(keys.count) < count ? ", …" : ""))"
  }

  /// The option that reads a value out of a text, where there is a function for it.
  private func textReading(_ source: String, _ destination: String) -> String {
    guard source == "String" else { return "" }
    let value = "$source.\(property ?? "ATTRIBUTE")"
    let name = "\(entity).\(property ?? "")"
    return switch destination {
    case "Date":
      "\(option: .set, "\(name)=date(\(value), \"yyyy-MM-dd\")") with the format of the "
        + "texts, "
    case "Binary": "\(option: .set, "\(name)=data(\(value), \"base64\")"), "
    default: ""
    }
  }

  /// An expression that leaves values alone and gives others where there are none.
  private static func keepingOthers(_ attribute: String, _ source: String) -> String {
    "\(attribute)=TERNARY($source.\(source) == nil, EXPRESSION, $source.\(source))"
  }

  /// The option that gives objects a value.
  private func setting(_ property: String?) -> String {
    "use \(option: .set, "\(entity).\(property ?? "ATTRIBUTE")=EXPRESSION")"
  }

  /// How the model gives objects a value, or another change of the model.
  private func remedy(orElse other: String) -> String {
    // An element has no default but that of its composite, which the app's code gives.
    property.map { Attribute.isElement(name: $0) } == true
      ? "use a mapping model, or make its composite attribute optional"
      : "give it a default value or \(other)"
  }

  /// The option that gives objects without a value in a source attribute one of their own.
  private func setting(_ property: String?, inPlaceOfNilOf source: String) -> String {
    let expression = Self.keepingOthers("\(entity).\(property ?? "ATTRIBUTE")", source)
    return "give each its own value and keep the other values: use \(option: .set, expression), "
      + "\(Self.identifiers)"
  }

  /// The expressions that are different for each object.
  private static let identifiers =
    "such as uuid() for a UUID and CAST(uuid(), \"NSString\") for a text"

  private static func explanation(
    of fault: ExternalFileFault, values: String, names: [String], count: Int64
  ) -> Explanation {
    let some = names.joined(separator: ", ") + (Int64(names.count) < count ? ", …" : "")
    return switch fault {
    case .missing:
      Explanation(
        "\(values) whose external files are missing (\(some))",
        advice: "put them back, or use \(choice: .onValue(.null))")
    case .foreign:
      Explanation(
        "\(values) whose external files are links or not regular files (\(some)), and links are "
          + "not followed", advice: "put the files themselves there")
    case .unreadable:
      Explanation(
        "\(values) whose external files cannot be read (\(some))",
        advice: "permit reading them, or put back files that can be read")
    case .shared:
      Explanation(
        "\(values) whose external files two values of the new store would name (\(some)), and Core "
          + "Data removes a file with the first of them that changes",
        advice: "fill one of them only, or have the other stored without external files")
    }
  }

  private func unfit(_ some: String, for type: String) -> Explanation {
    isOfSharedValues
      ? Explanation(
        "\(some) with values that do not fit \(type), and that are used for more than this "
          + "attribute, so that they cannot become nil",
        advice: "choose a wider type, or \(setting(property))")
      : Explanation(
        "\(some) with values that do not fit \(type)",
        advice: "choose a wider type, or use \(choice: .onValue(.null))")
  }

  private func explanation(
    of demand: Condition.Demand, count: Int64, keys: [Int64]
  ) -> Explanation {
    let objects = "\(CountText(count, "object"))"
    let some = Self.objects(of: sourceEntity, count: count, keys: keys)
    return switch demand {
    case .noObjects(_, isUnique: true):
      Explanation(
        "mandatory, without a default, and new: \(objects) would lack it, and it must be unique",
        advice: "make it optional, or give each its own value: \(setting(property)), "
          + Self.identifiers)
    case .noObjects:
      Explanation(
        "mandatory, without a default, and new: \(objects) would lack it",
        advice: "\(remedy(orElse: "make it optional")), or \(setting(property))")
    case .noObjectsLeftNil:
      Explanation(
        "mandatory, without a default, and the mapping model gives \(objects) no value",
        advice: "fill in an expression, or \(setting(property))")
    case .noObjectsForDefault(let form):
      Explanation(
        "new, and its default value (\(form)) cannot be put into \(objects)",
        advice: "remove the default, or \(setting(property))")
    case .noObjectsOfAbstract:
      Explanation(
        "abstract now, and the store has \(some) of it", advice: "use a mapping model")
    case .noMissingValues(let source, isUnique: true):
      Explanation(
        "mandatory now, without a default, and missing in \(some), and it must be unique",
        advice: "keep it optional, or \(setting(property, inPlaceOfNilOf: source))")
    case .noMissingValues:
      Explanation(
        "mandatory now, without a default, and missing in \(some)",
        advice: "\(remedy(orElse: "keep it optional")), or \(setting(property))")
    case .noMissingReferences:
      Explanation(
        "mandatory, and \(some) would have no destination",
        advice: "make it optional, fill it by a mapping model, or use \(choice: .onMissing(.drop))")
    case .valuesFit(_, let type): unfit(some, for: type)
    case .unique(let properties):
      Explanation(
        "\(some) break its uniqueness constraint (\(properties.joined(separator: ", ")))",
        advice: "remove the duplicates first, or use "
          + "\(choice: .onDuplicate(.keepFirst)), "
          + "\(value: StoreMigration.DuplicateChoice.keepLast) "
          + "or \(value: StoreMigration.DuplicateChoice.merge)")
    case .defaultsDiffer(let properties, let source?):
      Explanation(
        "\(objects) would get the same value of \(properties.joined(separator: ", ")) "
          + "instead of nil, and it must be unique",
        advice: setting(properties[0], inPlaceOfNilOf: source))
    case .defaultsDiffer(let properties, nil):
      Explanation(
        "\(objects) would get the same value of \(properties.joined(separator: ", ")), and "
          + "it must be unique",
        advice: "give each its own value: \(setting(properties.first)), \(Self.identifiers)")
    case .singleObject:
      Explanation(
        "to-one now, and \(some) would have several objects",
        advice: "use \(choice: .onMany(.first)) to keep the first "
          + "one, or use a mapping model")
    case .singleOwner:
      Explanation(
        "\(some) share an object, which may have only one owner now",
        advice: "use a mapping model")
    }
  }
}
