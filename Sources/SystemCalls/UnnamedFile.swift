import CSystemShims
package import SystemPackage

extension Files {
  /// Whether a file in a folder can be made without a name, and get one once it is complete.
  package static func makesUnnamedFiles(in folder: FilePath) -> Bool {
    guard let file = try? openUnnamed(in: folder) else { return false }
    let isReachable = try? file.closeAfter {
      // It gets its name by way of /proc, which not every process sees.
      try fileStatus(FilePath("/proc/self/fd/\(file.rawValue)")).isSameFile(
        as: fileStatus(of: file))
    }
    return isReachable == true
  }

  /// Copies a file, with its attributes, to a name that nothing has: it has the name once it is
  /// complete and on the disk, and of anything less nothing is left.
  ///
  /// - Parameter named: called with the identity of the copy just before it gets the name.
  /// - Throws: `SystemCallError`, with `.fileExists` if the name is taken, or the error of `named`.
  package static func placeCopy(
    of path: FilePath, at name: FilePath, named: (FileStatus) throws -> Void
  ) throws {
    let source = try open(path, mode: .readOnly)
    try source.closeAfter {
      let copy = try openUnnamed(in: parent(of: name))
      try copy.closeAfter {
        try copyBytes(source, target: copy, path: name) { _ in }
        try copyAttributes(from: path, to: FilePath("/dev/fd/\(copy.rawValue)"))
        try syncFile(copy)
        try named(fileStatus(of: copy))
        let code = name.withPlatformString { csystem_name(copy.rawValue, $0) }
        try check(code, operation: .link, path: name)
      }
    }
  }

  private static func openUnnamed(in folder: FilePath) throws(SystemCallError) -> FileDescriptor {
    let code = folder.withPlatformString { csystem_open_unnamed($0) }
    return FileDescriptor(rawValue: try check(code, operation: .open, path: folder))
  }
}
