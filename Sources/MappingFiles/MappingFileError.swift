package import Expressions
package import Mapping
package import ModelFiles
import ObjectModel
package import SystemPackage

/// What is wrong with the file of a mapping model, and where in it.
package struct MappingFileError: Error, Sendable {
  package enum Problem: Sendable {
    /// The file cannot be read, or an archive or document in it is damaged.
    case damaged(ModelFileError.Problem)
    /// None of the three forms of a mapping model.
    case unknownForm
    case notAMappingModel
    /// An object of the document lacks what every such object has.
    case incomplete(object: String, key: String)
    /// An object refers to one that is not there, or of another kind.
    case danglingReference(object: String, key: String)
    case badValue(key: String, value: String)
    /// Two mappings have the same name, by which expressions refer to them.
    case duplicateMapping
    /// User info holds a value that is neither text, a number, a date nor bytes.
    case unsupportedUserInfo(key: String)
    /// A model embedded in the file cannot be read.
    case embeddedModel(MappingSide, ModelFileError.Problem)
    /// A model embedded in the file lacks an entity that a mapping names.
    case entityMissing(MappingSide, String)
    /// Text that is not JSON.
    case notJSON(reason: String)
    case unknownKey(String)
    case wrongKind(key: String, expected: String)
    case unsupportedVersion(String)
    /// Text that is not of Core Data's format language.
    case badExpression(FormatError)
    case badPredicate(FormatError)
    /// A value that the format language has no text for.
    case noText(String)
  }

  package var problem: Problem
  package var file: FilePath?
  /// The line of a JSON file.
  package var line: Int?
  /// The name of the entity mapping.
  package var mapping: String?
  /// The destination property, or the key of the entity mapping that holds the text.
  package var property: String?
  /// Where in the text of an expression, a predicate or a line; the first character is column 1.
  package var column: Int?

  package init(
    _ problem: Problem, line: Int? = nil, mapping: String? = nil, property: String? = nil,
    column: Int? = nil
  ) {
    self.problem = problem
    self.line = line
    self.mapping = mapping
    self.property = property
    self.column = column
  }

  package init(_ error: ModelFileError) {
    self.init(.damaged(error.problem))
    file = error.file
  }

  /// The same error with the places that are still open filled in.
  package func at(
    file: FilePath? = nil, line: Int? = nil, mapping: String? = nil, property: String? = nil
  ) -> Self {
    var result = self
    result.file = self.file ?? file
    result.line = self.line ?? line
    result.mapping = self.mapping ?? mapping
    result.property = self.property ?? property
    return result
  }
}
