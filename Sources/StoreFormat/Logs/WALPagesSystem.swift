import GRDBSQLite
import SystemCalls
import SystemPackage

/// The VFS by which SQLite reads a store with the pages of its log as one read-only file, and
/// writes its own pages over a store (`PageEdit`).
///
/// Every other file is left to the system's own VFS: other databases that are attached, and the
/// temporary files of a connection.
enum WALPagesSystem {
  /// Its name in a URI; nil where SQLite does not take it.
  static let name: String? = register()

  /// An open file, as far as SQLite knows it and beyond.
  private struct File {
    var base: sqlite3_file
    var opened: Unmanaged<Opened>
  }

  /// What is behind an open file.
  private final class Opened {
    let source: SourceFile?
    let edit: PageEdit?

    init(_ path: FilePath, isWritten: Bool) throws(SystemCallError) {
      source = isWritten ? nil : try SourceFile(path)
      edit = isWritten ? try PageEdit(path) : nil
    }

    var byteCount: Int64 { edit?.byteCount ?? source?.byteCount ?? 0 }

    func read(
      _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemCallError) -> Int {
      if let edit { return try edit.read(bytes, at: offset) }
      return try source?.read(bytes, at: offset) ?? 0
    }
  }

  /// SQLite keeps it for as long as the process runs, and so nothing frees it.
  private static func register() -> String? {
    guard let system = sqlite3_vfs_find(nil) else { return nil }
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: system.pointee)
    own.pointee.pNext = nil
    let name = UnsafeMutablePointer<CChar>.allocate(capacity: text.utf8CString.count)
    name.initialize(from: Array(text.utf8CString), count: text.utf8CString.count)
    own.pointee.zName = UnsafePointer(name)
    own.pointee.szOsFile = max(system.pointee.szOsFile, Int32(MemoryLayout<File>.size))
    own.pointee.xOpen = { _, path, file, flags, opened in
      WALPagesSystem.open(path, file, flags, opened)
    }
    return sqlite3_vfs_register(own, 0) == SQLITE_OK ? text : nil
  }

  private static let text = "godwit-wal-pages"

  private static func open(
    _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ opened: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    guard let file else { return SQLITE_CANTOPEN }
    guard let opening = Self.opening(path, flags: flags) else {
      guard let system = sqlite3_vfs_find(nil), let open = system.pointee.xOpen else {
        return SQLITE_CANTOPEN
      }
      return open(system, path, file, flags, opened)
    }
    file.pointee.pMethods = nil
    guard let methods, let source = try? opening.get() else { return SQLITE_CANTOPEN }
    let access = source.edit == nil ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    UnsafeMutableRawPointer(file).bindMemory(to: File.self, capacity: 1).initialize(
      to: File(base: sqlite3_file(pMethods: methods.table), opened: .passRetained(source)))
    opened?.pointee = access | SQLITE_OPEN_MAIN_DB
    return SQLITE_OK
  }

  /// The store with the pages of its log, or why it cannot be opened; nil for any other file.
  private static func opening(
    _ path: UnsafePointer<CChar>?, flags: Int32
  ) -> Result<Opened, SystemCallError>? {
    guard flags & SQLITE_OPEN_MAIN_DB != 0, let path else { return nil }
    let own = FilePath(platformString: path)
    do throws(SystemCallError) {
      guard try SourceFile.hasPages(own) else { return nil }
      return .success(try Opened(own, isWritten: flags & SQLITE_OPEN_READWRITE != 0))
    } catch {
      DatabaseCalls.openError = error.errno
      return .failure(error)
    }
  }

  private static func opened(
    _ file: UnsafeMutablePointer<sqlite3_file>
  ) -> Unmanaged<Opened> {
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: File.self).pointee.opened
  }

  /// Calls what changes a file that may be written; SQLite's code of what comes of it.
  private static func change(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (PageEdit) throws -> Void
  ) -> Int32 {
    guard let file, let edit = opened(file).takeUnretainedValue().edit else {
      return SQLITE_READONLY
    }
    do {
      try body(edit)
      return SQLITE_OK
    } catch let error as SystemCallError {
      return error.errno.isOfFullDisk ? SQLITE_FULL : SQLITE_IOERR | (3 << 8)  // SQLITE_IOERR_WRITE
    } catch {
      return SQLITE_TOOBIG
    }
  }

  private static func read(
    _ file: UnsafeMutablePointer<sqlite3_file>, _ bytes: UnsafeMutableRawBufferPointer,
    at offset: Int64
  ) -> Int32 {
    let count: Int
    do {
      count = try opened(file).takeUnretainedValue().read(bytes, at: offset)
    } catch {
      return SQLITE_IOERR | (1 << 8)  // SQLITE_IOERR_READ, a macro that Swift does not import
    }
    if count == bytes.count { return SQLITE_OK }
    // SQLite relies on zeros behind the end.
    UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).initializeMemory(
      as: UInt8.self, repeating: 0)
    return SQLITE_IOERR | (2 << 8)  // SQLITE_IOERR_SHORT_READ
  }

  /// The functions of an open file, which are never changed.
  private struct Methods: @unchecked Sendable {
    // @unchecked: it is written before anybody has the pointer.
    let table: UnsafePointer<sqlite3_io_methods>
  }

  private static let methods: Methods? = {
    let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    var own = sqlite3_io_methods()
    own.iVersion = 1
    own.xClose = { file in
      if let file { WALPagesSystem.opened(file).release() }
      return SQLITE_OK
    }
    own.xRead = { file, bytes, count, offset in
      guard let file, let bytes else { return SQLITE_IOERR }
      return WALPagesSystem.read(
        file, UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: offset)
    }
    own.xWrite = { file, bytes, count, offset in
      let room = UnsafeRawBufferPointer(start: bytes, count: Int(count))
      return WALPagesSystem.change(file) { try $0.write(room, at: offset) }
    }
    own.xTruncate = { file, size in
      WALPagesSystem.change(file) { try $0.resize(to: size) }
    }
    own.xSync = { _, _ in SQLITE_OK }
    own.xFileSize = { file, size in
      guard let file, let size else { return SQLITE_IOERR }
      size.pointee = WALPagesSystem.opened(file).takeUnretainedValue().byteCount
      return SQLITE_OK
    }
    own.xLock = { _, _ in SQLITE_OK }
    own.xUnlock = { _, _ in SQLITE_OK }
    own.xCheckReservedLock = { _, isReserved in
      isReserved?.pointee = 0
      return SQLITE_OK
    }
    own.xFileControl = { file, operation, _ in
      guard operation == SQLITE_FCNTL_COMMIT_PHASETWO, let file,
        WALPagesSystem.opened(file).takeUnretainedValue().edit != nil
      else { return SQLITE_NOTFOUND }
      return WALPagesSystem.change(file) { try $0.commit() }
    }
    own.xSectorSize = { _ in 4096 }
    own.xDeviceCharacteristics = { file in
      guard let file, WALPagesSystem.opened(file).takeUnretainedValue().edit != nil else {
        return SQLITE_IOCAP_IMMUTABLE
      }
      return 0
    }
    table.initialize(to: own)
    return Methods(table: UnsafePointer(table))
  }()
}
