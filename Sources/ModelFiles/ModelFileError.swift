package import KeyedArchives
package import ObjectModel
package import SystemPackage

/// What is wrong with a model or its file, and where.
package struct ModelFileError: Error, Hashable, Sendable {
  /// What is wrong, apart from the place.
  package enum Problem: Hashable, Sendable {
    /// No file has the path.
    case notFound
    /// The file is a pipe, a socket or a device.
    case specialFile
    /// The system cannot read the file.
    case unreadable(Errno)
    /// The file, or what it contains, exceeds a limit.
    case tooLarge(limit: Int)
    /// The document is not well-formed XML, from this line on.
    case damagedXML(line: Int)
    /// The document declares XML entities, which no model has and an attacker would use.
    case entityDeclaration
    /// The document is not in UTF-8.
    case unknownEncoding(String)
    /// The root element is not `model`.
    case notAModelDocument
    /// The model is of Xcode before version 4: `elements` and `layout` in place of `contents`.
    case modelBeforeXcode4
    /// An XML element has an unknown name.
    case unknownElement(String)
    /// An XML element lacks a required attribute.
    case attributeMissing(element: String, attribute: String)
    /// An attribute of the model has an unknown type.
    case unknownAttributeType(String)
    /// A value has another form than its key requires.
    case badValue(key: String, value: String)
    /// A version file is not a property list, or has no text where a name belongs.
    case damagedPropertyList
    /// An archive cannot be read.
    case damagedArchive(KeyedArchiveError)
    /// An archive is not of a model, or lacks what every model has.
    case notAModelArchive
    /// An archived object has an unknown class.
    case unknownClass(String)
    /// Expressions or predicates are nested too deeply, or too many.
    case expressionTooComplex
    /// Entities and relationships contradict each other.
    case notAModel(ModelError)
    /// The folder contains no model.
    case noModel
    /// The folder contains several models.
    case severalModels([FilePath])
    /// The folder contains too many files to be searched for a model.
    case searchTooWide
    /// The bundle has several versions and does not name the current one.
    case noCurrentVersion
    /// The bundle does not have the version that it calls current.
    case currentVersionMissing(String)
    /// The bundle does not have a version of this name.
    case versionMissing(String, available: [String])
    /// Models to be merged define the entity differently.
    case conflictingEntity
    /// The model has no configuration of this name.
    case configurationMissing(String)
    /// No known archive of Core Data's shows a form for this construct.
    case cannotArchive(String)
    /// A part could not be read, and so cannot be written.
    case unread(UnreadPart)
    /// A version hash is not known, so no store can be given it.
    case unknownHash(UnknownVersionHash)
  }

  /// What is wrong.
  package var problem: Problem
  /// The path of the file, nil for a model in memory or in a store.
  package var file: FilePath?
  /// The entity concerned, nil for the model itself.
  package var entity: String?
  /// The property concerned, nil for an entity or the model.
  package var property: String?

  /// Creates an error; callers add the place as far as they know it.
  package init(
    _ problem: Problem, file: FilePath? = nil, entity: String? = nil, property: String? = nil
  ) {
    self.problem = problem
    self.file = file
    self.entity = entity
    self.property = property
  }

  /// The same error, with those places added that it does not have.
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
