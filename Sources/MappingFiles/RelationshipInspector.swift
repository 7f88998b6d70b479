import Expressions
import Mapping

/// The key path and the mapping name that Xcode's inspector keeps for a relationship whose
/// expression it generates.
///
/// The compiler makes of them a look-up of what the mapping made of the objects at the key path
/// (docs/reference/mapping-file.md, "Mapping documents").
struct RelationshipInspector {
  private let keyPath: String?
  private let mapping: String?
  private let property: String
  private let entry: (source: String?, destination: String?)

  init(
    _ object: CoreDataDocument.Object, property: String,
    entry: (source: String?, destination: String?)
  ) {
    keyPath = object.text(name: "sourcekeypath")
    mapping = object.text(name: "sourcemappingname")
    (self.property, self.entry) = (property, entry)
  }

  /// The expression of the two fields; without them the one that the compiler generates.
  ///
  /// - Throws: `MappingFileError`, if the key path cannot be read, or several mappings may have
  ///   made its objects.
  func expression(
    otherwise implicit: ImplicitExpressions
  ) throws(MappingFileError) -> ValueExpression? {
    if keyPath == nil && mapping == nil {
      return implicit.relationship(name: property, from: entry.source, to: entry.destination)
    }
    let path = try path()
    if let mapping { return .destinations(of: path, mapping: mapping) }
    let found = implicit.destinations(
      of: path, from: entry.source, as: property, to: entry.destination)
    guard let found else {
      throw MappingFileError(.incomplete(object: property, key: "sourcemappingname"))
    }
    return found
  }

  /// The source objects; without a key path those of the relationship of the same name.
  private func path() throws(MappingFileError) -> ValueExpression {
    guard let keyPath else { return .source(name: property) }
    guard let expression = ValueExpression(parsing: keyPath) else {
      throw MappingFileError(.badValue(key: "sourcekeypath", value: keyPath))
    }
    // A plain key path is one of the source object, as the editor shows it.
    if case .keyPath(nil, let path) = expression { return .source(name: path) }
    return expression
  }
}
