package import SystemPackage

/// The lines of a model source on which entities and properties are declared.
package struct DeclarationLines: Sendable {
  /// The file `contents` of the version.
  package let file: FilePath
  private var entities: [String: (line: Int, superentity: String?)] = [:]
  private var properties: [String: [String: Int]] = [:]

  /// Reads the source of a version; nil for a compiled one.
  ///
  /// - Throws: `ModelFileError`.
  package init?(of version: ModelVersion) throws(ModelFileError) {
    guard version.path.extension == "xcdatamodel" else { return nil }
    file = version.path.appending("contents")
    do throws(ModelFileError) {
      let tree = try XMLTree(parsing: try FileBytes.read(file))
      for entity in tree.children(of: tree.root, named: "entity") {
        guard let name = entity.attributes["name"] else { continue }
        entities[name] = (entity.line, entity.attributes["parentEntity"])
        for property in tree.children(of: entity) {
          guard let own = property.attributes["name"] else { continue }
          properties[name, default: [:]][own] = property.line
        }
      }
    } catch {
      throw error.at(file: file)
    }
  }

  /// The line of an entity, from 1; nil if the model has none of that name.
  package func line(ofEntity name: String) -> Int? { entities[name]?.line }

  /// The line of a property, from 1, where the entity or a superentity declares it; that of an
  /// element of a composite attribute is the line of the attribute.
  package func line(ofProperty property: String, of entity: String) -> Int? {
    let name = String(property.prefix { $0 != "." })
    var (next, seen): (String?, Set<String>) = (entity, [])
    while let current = next, seen.insert(current).inserted {
      if let line = properties[current]?[name] { return line }
      next = entities[current]?.superentity
    }
    return nil
  }
}
