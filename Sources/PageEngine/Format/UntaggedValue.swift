import Schema
import StoreFormat
import SystemPackage

/// Makes values without a tag of those that have one, and reads what lies in files of its own.
final class UntaggedValue {
  private let files: ExternalDataReader

  /// Takes the support folder of the store.
  init(support: FilePath) { files = ExternalDataReader(support: support) }

  /// The value behind the tag or in the file, or without either; nil if SQLite has to make it or to
  /// report the error.
  ///
  /// It lasts until the next one.
  func value(of field: Field) -> Field? {
    guard field.isBlob, field.size > 0, let body = field.body else { return nil }
    switch body.load(as: UInt8.self) {
    case ExternalTag.inline: return Field(type: field.type - 2, body: body + 1)
    case ExternalTag.file:
      let name = UnsafeRawBufferPointer(start: body + 1, count: field.size - 1)
      return files.read(name).map { Field(type: UInt64($0.count) * 2 + 12, body: $0.baseAddress) }
    default: return field
    }
  }
}
