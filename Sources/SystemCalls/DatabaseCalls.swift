import CSystemShims
package import SystemPackage

/// System calls that a database library makes, with errors that it would lose.
package enum DatabaseCalls {
  /// Replaces one call in the table of a library.
  package typealias Call = @convention(c) () -> Void

  /// The names of the calls.
  package static let names = ["read", "pread", "pread64", "open", "lstat"]

  /// The function to call instead of the system's; nil for a name that stays as it is.
  ///
  /// Reads report a failed device as `ENODEV`: SQLite takes `EIO` for a damaged database.
  package static func call(named name: String) -> Call? { csystem_database_call_named(name) }

  /// The error of the last file that a library could not open in this thread, since it was cleared.
  package static var openError: Errno? {
    get {
      let code = csystem_database_open_error()
      return code == 0 ? nil : Errno(rawValue: code)
    }
    set { csystem_set_database_open_error(newValue?.rawValue ?? 0) }
  }
}
