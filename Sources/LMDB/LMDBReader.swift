import SystemCalls
package import SystemPackage

/// Reads the tables of a file that other processes write.
///
/// It takes no lock, is known to no writer, and believes nothing that it has not checked: neither a
/// damaged file nor a stopped process can end it or hold it up.
package final class LMDBReader: Sendable {
  /// The path under which the file was opened.
  package let path: FilePath
  private let file: FileDescriptor
  private let pages: LMDBPages
  private let opened: FileStatus

  /// Opens a file.
  ///
  /// - Throws: `LMDBError`, with `truncated` for one that is no database or damaged.
  package init(path: FilePath) throws(LMDBError) {
    self.path = path
    do {
      file = try FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec])
    } catch {
      throw LMDBError(
        operation: .open, path: path,
        problem: (error as? Errno).map { .system($0) } ?? .truncated)
    }
    guard let opened = try? Files.fileStatus(of: file), opened.kind == .file,
      let pages = LMDBPages(file)
    else {
      try? file.close()  // was only read
      throw LMDBError(operation: .open, path: path, problem: .truncated)
    }
    (self.opened, self.pages) = (opened, pages)
  }

  deinit {
    try? file.close()  // was only read
  }

  /// All keys and values of some tables, in one state, sorted by the bytes of the keys.
  ///
  /// - Throws: `LMDBError`, with `missingTable`, `truncated` where the file is damaged, or `busy`.
  package func entries(
    of names: [String]
  ) throws(LMDBError) -> [String: [(key: [UInt8], value: [UInt8])]] {
    let found: [String: [LMDBPages.Entry]]
    do throws(LMDBError.Problem) {
      found = try pages.read { try pages.entries(of: names, meta: $0) }
    } catch {
      throw LMDBError(operation: .get, path: path, problem: error)
    }
    if let missing = names.first(where: { found[$0] == nil }) {
      throw LMDBError(operation: .openTable, path: path, problem: .missingTable(missing))
    }
    return found
  }

  /// Keys and values of a table from a key on, at most `limit` of them, in one state, sorted by the
  /// bytes of the keys.
  ///
  /// - Throws: `LMDBError`, with `missingTable`, `truncated` where the file is damaged, or `busy`.
  package func entries(
    of name: String, from key: [UInt8], limit: Int
  ) throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    let found: [LMDBPages.Entry]?
    do throws(LMDBError.Problem) {
      found = try pages.read { try pages.entries(of: name, from: key, limit: limit, meta: $0) }
    } catch {
      throw LMDBError(operation: .get, path: path, problem: error)
    }
    guard let found else {
      throw LMDBError(operation: .openTable, path: path, problem: .missingTable(name))
    }
    return found
  }

  /// Whether the path now names another file or none.
  package var isReplaced: Bool {
    guard let named = try? Files.fileStatusIfPresent(path) else { return true }
    return !named.isSameFile(as: opened)
  }
}
