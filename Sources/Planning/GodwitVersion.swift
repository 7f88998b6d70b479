/// The version of Godwit, which work of an interrupted run is bound to.
package enum GodwitVersion {
  /// The version of this build.
  package static let current = "0.2.0"
  /// The program and its version, as they appear in the history of a store.
  package static let author = "Godwit \(current)"
}
