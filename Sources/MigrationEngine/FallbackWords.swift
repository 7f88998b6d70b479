package import Mapping

extension RowFallback {
  /// Why a stage goes object by object, as the end of a sentence.
  package var words: String {
    let place = property.map { "\(mapping).\($0)" } ?? mapping
    return switch reason {
    case .selection: "another expression than a filter yields the objects of \(place)"
    case .moment: "what the filter of \(place) takes depends on the moment"
    case .watched: "\(place) has a filter, and the store keeps account of each object"
    case .policy(let policy):
      "the policy \(policy) of \(place) does not declare that its objects are independent"
    case .shared(let other):
      "\(place) and \(other) take or make objects of the same entity"
    case .expression: "the value of \(place) needs more than its source object"
    case .relationship: "\(place) does not hold what all objects of one relationship became"
    case .type: "\(place) has values of another kind than its source"
    case .constraint: "\(place) is computed and has to be unique"
    case .newObjects: "\(place) makes new objects of pairs, of values or of all objects"
    case .sorted: "\(place) is sorted by an attribute"
    case .several: "several mapping models make this step"
    case .columns: "the columns of the source have no place for \(place)"
    }
  }
}
