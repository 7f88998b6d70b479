package import KeyedArchives
package import ObjectModel
package import SystemPackage

/// What is wrong with a model or its file.
package struct ModelFileError: Error, Hashable, Sendable {
  package enum Problem: Hashable, Sendable {
    case notFound
    case unreadable(Errno)
    case tooLarge(limit: Int)
    case damagedXML(line: Int)
    /// The document declares entities, which no model has and which an attacker would use.
    case entityDeclaration
    case unknownEncoding(String)
    case notAModelDocument
    /// A model of Xcode before version 4: `elements` and `layout` in place of `contents`.
    case modelBeforeXcode4
    case unknownElement(String)
    case attributeMissing(element: String, attribute: String)
    case unknownAttributeType(String)
    case badValue(key: String, value: String)
    case damagedPropertyList
    case damagedArchive(KeyedArchiveError)
    case notAModelArchive
    case unknownClass(String)
    case expressionTooComplex
    case notAModel(ModelError)
    /// The folder holds no model.
    case noModel
    case severalModels([FilePath])
    case searchTooWide
    case noCurrentVersion
    case currentVersionMissing(String)
    case versionMissing(String, available: [String])
    case conflictingEntity
    case configurationMissing(String)
    /// An archive of this construct cannot be written as Core Data would.
    case cannotArchive(String)
    /// A part that could not be read, and so cannot be written either.
    case unread(UnreadPart)
    /// A version hash that is not known, so that no store can be stamped with it.
    case unknownHash(UnknownVersionHash)
  }

  package var problem: Problem
  package var file: FilePath?
  package var entity: String?
  package var property: String?

  package init(
    _ problem: Problem, file: FilePath? = nil, entity: String? = nil, property: String? = nil
  ) {
    self.problem = problem
    self.file = file
    self.entity = entity
    self.property = property
  }

  /// The same error with the places that are still open filled in.
  package func at(
    file: FilePath? = nil, entity: String? = nil, property: String? = nil
  ) -> Self {
    var result = self
    result.file = self.file ?? file
    result.entity = self.entity ?? entity
    result.property = self.property ?? property
    return result
  }
}
