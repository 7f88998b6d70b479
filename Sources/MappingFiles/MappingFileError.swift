package import Expressions
package import Mapping
package import ModelFiles
import ObjectModel
package import SystemPackage

/// What is wrong with the file of a mapping model, and where in it.
package struct MappingFileError: Error, Sendable {
  /// What is wrong, apart from the place.
  package enum Problem: Sendable {
    /// The file cannot be read, or an archive or document in it is damaged.
    case damaged(ModelFileError.Problem)
    /// The file has none of the three forms of a mapping model.
    case unknownForm
    /// The file has the right form but contains something else.
    case notAMappingModel
    /// An object lacks a key that every such object has.
    case incomplete(object: String, key: String)
    /// An object refers to one that does not exist, or of another type.
    case danglingReference(object: String, key: String)
    /// A value has another form than its key requires.
    case badValue(key: String, value: String)
    /// Two entity mappings have the same name, by which expressions refer to them.
    case duplicateMapping
    /// User info has a value that is not a text, a number, a date or bytes.
    case unsupportedUserInfo(key: String)
    /// A model embedded in the file cannot be read.
    case embeddedModel(MappingSide, ModelFileError.Problem)
    /// A model embedded in the file lacks an entity of a mapping.
    case entityMissing(MappingSide, String)
    /// The text is not JSON.
    case notJSON(reason: String)
    /// An object has a key that mapping files do not have.
    case unknownKey(String)
    /// The value of a key is of another kind than expected.
    case wrongKind(key: String, expected: String)
    /// The JSON has this version instead of 1.
    case unsupportedVersion(String)
    /// A text is not an expression in the predicate format.
    case badExpression(FormatError)
    /// A text is not a predicate in the predicate format.
    case badPredicate(FormatError)
    /// A value has no text in the predicate format.
    case noText(String)
  }

  /// What is wrong.
  package var problem: Problem
  /// The path of the file, nil where only its contents are known.
  package var file: FilePath?
  /// The line of a JSON file, from 1.
  package var line: Int?
  /// The name of the entity mapping.
  package var mapping: String?
  /// The destination property, or the key of the entity mapping.
  package var property: String?
  /// The character in an expression, a predicate or a line, from 1.
  package var column: Int?

  /// Creates an error; callers add the place as far as they know it.
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

  /// Converts an error in an archive or a document.
  package init(_ error: ModelFileError) {
    self.init(.damaged(error.problem))
    file = error.file
  }

  /// The same error, with those places added that it does not have.
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
