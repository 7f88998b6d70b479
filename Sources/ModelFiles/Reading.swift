import Expressions
import KeyedArchives
import ObjectModel

extension UnreadPart {
  /// The result of `body`, or nil after an error, which is added to `unread`.
  ///
  /// - Throws: `ModelFileError` with `tooLarge`, which bounds what a damaged file can claim.
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
  /// What was found in the file: a class, a value or a text.
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
  /// The text or class of the first part that could not be parsed, nil if there is none.
  var unparsedForm: String? {
    switch self {
    case .unparsed(let text): text
    case .and(let parts), .or(let parts): parts.lazy.compactMap(\.unparsedForm).first
    case .not(let part): part.unparsedForm
    case .always, .comparison: nil
    }
  }

  /// Whether known archives show a form for the predicate.
  var isArchivable: Bool {
    var writer = ArchivedValueWriter()
    return (try? writer.predicate(self)) != nil
  }
}

extension [Entity] {
  /// The entities without references to missing entities, which are added to `unread`.
  var withoutLooseEnds: [Entity] {
    let names = Set(map(\.name))
    return map { entity in
      var result = entity
      if let parent = entity.superentityName, !names.contains(parent) {
        result.superentityName = nil
        result.unread.append(
          UnreadPart(part: .superentity, name: parent, form: "absent"))
      }
      result.relationships.removeAll { !names.contains($0.destinationEntityName) }
      for loose in entity.relationships where !names.contains(loose.destinationEntityName) {
        result.unread.append(
          UnreadPart(
            part: .destination,
            name: "\(loose.destinationEntityName) of the relationship \(loose.name)",
            form: "absent"))
      }
      return result
    }
  }
}
