import Expressions
import Foundation
import KeyedArchives
import ObjectModel

// Errors in parts of files whose path is not known; readers that know it throw errors with it.
extension MigrationFailure {
  /// Describes an error in a part of a file; nil for any other error.
  init?(ofPart error: any Error) {
    switch error {
    case let error as ModelError:
      let place = [error.entity, error.property].compactMap(\.self).joined(separator: ".")
      self.init(
        .damaged, "a model is not valid at \(place) (\(error.problem)): check its file."
      )
    case let error as KeyedArchiveError:
      self.init(
        .damaged,
        "an archive in a model or a store cannot be read (\(error.problem), at object "
          + "\(error.object)): restore the file from a backup.")
    case let error as PropertyListError:
      self.init(
        .damaged,
        "a property list in a model or a store cannot be read (\(error.problem), at "
          + "\(error.place)): restore the file from a backup.")
    case let error as EvaluationError:
      self.init(.impossible, "an expression of a mapping model has no value: \(error)")
    case let error as FormatError:
      self.init(.impossible, "an expression cannot be read: \(error)")
    case let error as DecodingError:
      self.init(
        .damaged, "a JSON file is not valid\(Self.place(of: error)).")
    default: return nil
    }
  }

  private static func place(of error: DecodingError) -> String {
    let context: DecodingError.Context? =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .keyNotFound(_, let context), .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    guard let context else { return "" }
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    return (path.isEmpty ? "" : " at \(path)") + ": \(context.debugDescription)"
  }
}
