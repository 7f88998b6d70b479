package import Mapping

/// A mapping model that a migration may use.
package struct RouteMapping: Sendable {
  /// How the mapping model came to be known; a lower one counts before a higher.
  package enum Standing: Int, Comparable, Sendable {
    /// The user named it.
    case named
    /// It lies in a folder that the user named.
    case listed
    /// It lies where the models lie.
    case found

    /// Whether the first counts before the second.
    package static func < (first: Self, second: Self) -> Bool { first.rawValue < second.rawValue }
  }

  /// What stands for the path of a mapping that is inferred but for some expressions.
  package static let inferredName = "inference with --set"

  /// Its path.
  package var name: String
  /// How the mapping model came to be known.
  package var standing: Standing
  /// The mapping model; of an outline what could be read.
  package var mapping: MappingModel
  /// The two models that its file was made for, as far as the file names them.
  package var madeFor: Pair?
  /// Whether only the entities that its file is made for could be read, and nothing else of it.
  package var isOutline: Bool

  /// Two versions, by the checksums of their hashes.
  package struct Pair: Hashable, Sendable {
    /// The checksum of the model that it leads from.
    package var source: String
    /// The checksum of the model that it leads to.
    package var destination: String

    /// Takes the checksums of the two models that a mapping file names.
    package init(source: String, destination: String) {
      self.source = source
      self.destination = destination
    }
  }

  /// Makes a mapping model with what is known of its file.
  package init(
    name: String, standing: Standing, mapping: MappingModel, madeFor: Pair? = nil,
    isOutline: Bool = false
  ) {
    self.isOutline = isOutline
    self.name = name
    self.standing = standing
    self.mapping = mapping
    self.madeFor = madeFor
  }
}
