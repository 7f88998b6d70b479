/// Why bytes are not a property list, and where.
package struct PropertyListError: Error, Hashable, Sendable {
  package enum Problem: Hashable, Sendable {
    case notABinaryPropertyList
    case damagedTrailer
    case damagedObject
    /// The objects claim more bytes than the file has: they overlap.
    case overlappingObjects
    case referenceOutOfRange
    case dictionaryKeyIsNotAString
    case cycle
    case tooDeep
    case tooLarge
  }

  package var problem: Problem
  /// Where in the bytes, or which object once the bytes are read.
  package var place: Int

  package init(_ problem: Problem, at place: Int = 0) {
    self.problem = problem
    self.place = place
  }
}
