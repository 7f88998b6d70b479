package import Mapping

extension RowFallback {
  /// Why a stage goes object by object, as the end of a sentence.
  package var words: String {
    let place = property.map { "\(mapping).\($0)" } ?? mapping
    return switch reason {
    case .selection: "the objects of \(place) come from an expression that is not a filter"
    case .moment: "the filter of \(place) depends on the current time"
    case .watched: "\(place) has a filter, and persistent history or CloudKit refers to each object"
    case .policy(let policy):
      "the policy \(policy) of \(place) does not declare its objects independent"
    case .shared(let other):
      "\(place) and \(other) read or make objects of the same entity"
    case .expression: "the value of \(place) needs more than its source object"
    case .relationship: "\(place) does not hold the new objects of one relationship"
    case .type: "\(place) has values of another kind than its source"
    case .constraint: "\(place) is computed and has to be unique"
    case .newObjects: "\(place) makes new objects of pairs, of values or of all objects"
    case .sorted: "\(place) is sorted by an attribute"
    case .several: "several mapping models make this step"
    case .columns: "the columns of the source cannot hold \(place)"
    }
  }
}
