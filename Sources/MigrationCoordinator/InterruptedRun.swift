import Planning
import SystemPackage

extension MigrationRequest {
  /// Whether a run to the same destination left its work folder; also true while one runs.
  package var hasInterruptedRun: Bool {
    guard let paths = try? resolved().paths,
      let mark = try? WorkFolder(path: paths.work).mark()
    else { return false }
    return mark.destination == paths.destination.string
  }
}
