/// Why bytes are not a property list, and where.
package struct PropertyListError: Error, Hashable, Sendable {
  /// What is wrong with the bytes.
  package enum Problem: Hashable, Sendable {
    /// The bytes do not begin with `bplist0`, or are too few.
    case notABinaryPropertyList
    /// The trailer or the offset table contradicts the size of the file.
    case damagedTrailer
    /// A marker is unknown, or an object exceeds the file.
    case damagedObject
    /// The objects have more bytes than the file, so they overlap.
    case overlappingObjects
    /// A collection refers to a number beyond the last object.
    case referenceOutOfRange
    /// A dictionary has a key of another kind.
    case dictionaryKeyIsNotAString
    /// A collection contains itself.
    case cycle
    /// Collections are nested deeper than `PropertyList.maximumDepth`.
    case tooDeep
    /// There are more objects, or more values in the tree, than allowed.
    case tooLarge
  }

  /// What is wrong.
  package var problem: Problem
  /// The offset in the bytes; for a tree the number of the object.
  package var place: Int

  /// Creates an error at an offset or an object.
  package init(_ problem: Problem, at place: Int = 0) {
    self.problem = problem
    self.place = place
  }
}
