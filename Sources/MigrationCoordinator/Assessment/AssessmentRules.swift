/// The rules by which an assessment counts more than the conditions of its steps.
struct AssessmentRules: Sendable {
  /// Whether every row is searched for entities that the model does not have, for odd values and
  /// for broken constraints that stay.
  var scansAll = false
  /// Whether every row is searched for defects, where rows are made by programs.
  var searchesDefects = false
  /// Whether new constraints of many rows are left to the indexes that keep them.
  var leavesConstraints = false
  /// Whether persistent history stays.
  var keepsHistory = true
  /// Whether a mapping model's objects have to have mandatory relationships.
  var requiresRules = true
}
