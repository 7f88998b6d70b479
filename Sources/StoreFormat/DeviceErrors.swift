import GRDBSQLite
package import SystemCalls

extension DatabaseCalls {
  /// Has SQLite make these calls, once in a process: it would report a failed read as a damaged
  /// database, and a failed open without its cause.
  package static func install() { _ = isInstalled }

  private static let isInstalled: Bool = {
    guard let system = sqlite3_vfs_find(nil), let get = system.pointee.xGetSystemCall,
      let set = system.pointee.xSetSystemCall
    else { return false }
    for name in names {
      // SQLite uses one of the functions that read, and lacks the others in its table.
      guard get(system, name) != nil, let own = call(named: name) else { continue }
      _ = set(system, name, own)
    }
    return true
  }()
}
