import ObjectModel

extension ModelFileError.Problem {
  /// What is wrong, as the end of a sentence.
  package var words: String {
    switch self {
    case .notFound: "it does not exist"
    case .specialFile: "it is a pipe, a socket or a device"
    case .unreadable(let errno): "it cannot be read: \(errno)"
    case .tooLarge(let limit): "it is larger than \(limit)"
    case .damagedXML(let line): "it is not well-formed XML, from line \(line) on"
    case .entityDeclaration: "it declares XML entities, which no model has"
    case .unknownEncoding(let name): "its encoding is \(name), not UTF-8"
    case .notAModelDocument: "it is not a document of a model"
    case .modelBeforeXcode4: "it is a model of Xcode before version 4"
    case .unknownElement(let name): "the element \(name) is not known"
    case .attributeMissing(let element, let attribute): "the element \(element) lacks \(attribute)"
    case .unknownAttributeType(let name): "the attribute type \(name) is not known"
    case .badValue(let key, let value): "\(value) is not a value of \(key)"
    case .damagedPropertyList: "it is a damaged property list"
    case .damagedArchive: "it is a damaged archive"
    case .notAModelArchive: "it is not an archive of a model"
    case .unknownClass(let name): "the class \(name) is not known"
    case .expressionTooComplex: "its expressions are nested too deeply, or too many"
    case .notAModel(let error): error.words
    case .noModel: "it contains no model"
    case .severalModels: "it contains several models"
    case .searchTooWide: "it contains too many files to search"
    case .noCurrentVersion: "it does not state which version is current"
    case .currentVersionMissing(let name): "it lacks its current version \(name)"
    case .versionMissing(let name, _): "it has no version \(name)"
    case .conflictingEntity: "two models define the entity differently"
    case .configurationMissing(let name): "it has no configuration \(name)"
    case .cannotArchive(let part): "no known archive of Core Data shows a form for \(part)"
    case .unread(let part): "the \(part.words) cannot be read"
    case .unknownHash(let hash): "the version hash of \(hash.entity) is not known"
    }
  }
}

extension ModelError {
  /// What does not fit together, as the end of a sentence.
  fileprivate var words: String {
    let place = [entity, property].compactMap(\.self).joined(separator: ".")
    let what =
      switch problem {
      case .entityDefinedTwice, .propertyDefinedTwice: "is defined twice"
      case .propertyDeclaredAbove(let name): "is already declared by its superentity \(name)"
      case .inverseMissing(let name): "has the inverse \(name), which does not exist"
      case .inverseDiffers(let place): "has the inverse \(place), which leads elsewhere"
      case .propertyChangesKind: "is of another kind than in a superentity"
      case .superentityMissing(let name): "inherits from \(name), which does not exist"
      case .inheritanceCycle: "is its own ancestor"
      case .inheritanceTooDeep: "has too many ancestors"
      case .destinationMissing(let name): "leads to \(name), which does not exist"
      }
    return "\(place) \(what)"
  }
}
