import Expressions
import KeyedArchives
import ObjectModel

extension UnreadPart {
  /// What the part yields; one that cannot be read is noted, and the rest goes on without it.
  ///
  /// A limit that keeps a damaged file from growing without end ends the reading as a whole.
  static func attempt<Result>(
    _ part: Part, name: String? = nil, noting unread: inout [UnreadPart],
    body: () throws(ModelFileError) -> Result
  ) throws(ModelFileError) -> Result? {
    do throws(ModelFileError) {
      return try body()
    } catch {
      if case .tooLarge = error.problem { throw error }
      unread.append(UnreadPart(part: part, name: name, form: error.form))
      return nil
    }
  }
}

extension ModelFileError {
  /// What stands in the place of what was expected: a class, a value, a text.
  var form: String {
    switch problem {
    case .unknownClass(let name), .unknownElement(let name): name
    case .unknownAttributeType(let type): type
    case .badValue(let key, let value): "\(key) \(value)"
    case .attributeMissing(let element, let attribute): "\(element) without \(attribute)"
    case .damagedArchive(let error): "damaged: \(error.problem) in object \(error.object)"
    case .expressionTooComplex: "too complex"
    case .notAModelArchive: "of another kind"
    default: "\(problem)"
    }
  }
}

extension ValuePredicate {
  /// The text or class of a part that could not be read as a predicate; nil where all of it could.
  var unparsedForm: String? {
    switch self {
    case .unparsed(let text): text
    case .and(let parts), .or(let parts): parts.lazy.compactMap(\.unparsedForm).first
    case .not(let part): part.unparsedForm
    case .always, .comparison: nil
    }
  }

  /// Whether an archive of it can be written as real ones show.
  var isArchivable: Bool {
    var writer = ArchivedValueWriter()
    return (try? writer.predicate(self)) != nil
  }
}

extension [Entity] {
  /// The entities without what leads to entities that are not there, which is noted.
  var withoutLooseEnds: [Entity] {
    let names = Set(map(\.name))
    return map { entity in
      var result = entity
      if let parent = entity.superentityName, !names.contains(parent) {
        result.superentityName = nil
        result.unread.append(
          UnreadPart(part: .element, name: parent, form: "superentity, which is not there"))
      }
      result.relationships.removeAll { !names.contains($0.destinationEntityName) }
      for loose in entity.relationships where !names.contains(loose.destinationEntityName) {
        result.unread.append(
          UnreadPart(
            part: .element, name: loose.name,
            form: "relationship to \(loose.destinationEntityName), which is not there"))
      }
      return result
    }
  }
}
