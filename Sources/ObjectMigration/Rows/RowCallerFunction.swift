package import GRDB
import GRDBSQLite
import Schema
import StoreFormat

extension RowCaller {
  /// Makes `godwit_call` known to a connection, which must not outlive the caller.
  ///
  /// SQLite calls it on the thread that runs the statement, which is the caller's own. It is none
  /// of GRDB's functions, because those can only return texts that are well-formed.
  package func install(in db: Database) {
    sqlite3_create_function_v2(
      db.sqliteConnection, "godwit_call", 3, SQLITE_UTF8,
      // Safe: the connection must not outlive the caller, as stated above.
      Unmanaged.passUnretained(self).toOpaque(),
      { context, _, arguments in
        guard let context, let arguments, let caller = sqlite3_user_data(context),
          let property = sqlite3_value_text(arguments[1])
        else { return sqlite3_result_null(context) }
        Unmanaged<RowCaller>.fromOpaque(caller).takeUnretainedValue().call(
          context, mapping: Int(sqlite3_value_int64(arguments[0])),
          property: String(cString: property), key: sqlite3_value_int64(arguments[2]))
      }, nil, nil, nil)
  }

  private func call(_ context: OpaquePointer, mapping: Int, property: String, key: Int64) {
    do {
      try value(mapping: mapping, property: property, key: key).yield(to: context)
    } catch {
      failure = failure ?? error
      sqlite3_result_error(context, "a call failed", -1)
    }
  }
}

extension StoredValue {
  /// Hands the value to SQLite as what a function returns.
  fileprivate func yield(to context: OpaquePointer) {
    let copies = RawStatement.copiesBytes
    func yield(text bytes: UnsafeRawBufferPointer, encoding: Int32) {
      // Without an address it would be NULL.
      guard !bytes.isEmpty else { return sqlite3_result_text(context, "", 0, copies) }
      sqlite3_result_text64(
        context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count),
        copies, UInt8(encoding))
    }
    switch self {
    case .null: sqlite3_result_null(context)
    case .integer(let number): sqlite3_result_int64(context, number)
    case .real(let number): sqlite3_result_double(context, number)
    case .text(let text):
      Array(text.utf8).withUnsafeBytes { yield(text: $0, encoding: SQLITE_UTF8) }
    case .rawText(let bytes, let isUTF16):
      bytes.withUnsafeBytes { yield(text: $0, encoding: isUTF16 ? SQLITE_UTF16 : SQLITE_UTF8) }
    case .blob(let bytes):
      bytes.withUnsafeBytes {
        if $0.isEmpty {
          sqlite3_result_zeroblob(context, 0)
        } else {
          sqlite3_result_blob64(context, $0.baseAddress, UInt64($0.count), copies)
        }
      }
    }
  }
}
