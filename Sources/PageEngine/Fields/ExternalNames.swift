/// The name of a file of its own in which a binary value lies, as the value in the store gives it:
/// a tag and the name (docs/reference/store-format.md, "External binary data").
package struct ExternalName: BitwiseCopyable {
  private static let tag: UInt8 = 2
  /// A longer value is no name, whatever it begins with.
  private static let limit = 64

  private var bytes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
  private var count: UInt64 = 0

  /// Whether a field may be a name by its type.
  static func isPossible(_ type: UInt64) -> Bool {
    type >= 14 && type & 1 == 0 && Field.size(type: type) < limit
  }

  init?(_ field: Field) {
    guard Self.isPossible(field.type), let body = field.body,
      body.load(as: UInt8.self) == Self.tag
    else { return nil }
    let length = min(field.size - 1, 36)
    count = UInt64(length)
    withUnsafeMutableBytes(of: &bytes) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: body + 1, count: length))
    }
  }

  /// The name as text, at most 36 bytes long.
  package var text: String {
    withUnsafeBytes(of: bytes) { String(decoding: $0.prefix(Int(count)), as: UTF8.self) }
  }
}

/// Collects the names of external files from some columns of a table's rows.
package final class NameCollector {
  /// The places of the columns in a record.
  let columns: [Int]
  private let names: EntryCollector
  private var isComplete = true

  /// Collects into a file of runs what the columns at these places of a record hold.
  package init(runs: RunFile, columns: [Int]) {
    self.columns = columns
    names = EntryCollector(file: runs, entrySize: MemoryLayout<ExternalName>.stride)
  }

  func add(_ fields: UnsafePointer<Field>) throws(PageError) {
    for column in columns { try add(fields[column]) }
  }

  func add(_ field: Field) throws(PageError) {
    if let name = ExternalName(field) { try names.add(name) }
  }

  /// Records that a value was not read.
  func miss() { isComplete = false }

  /// Where the names are; nil where there may be others.
  package func finish() throws(PageError) -> [Section]? {
    try names.flush()
    return isComplete ? names.sections : nil
  }
}

extension SectionReader {
  /// The next name; nil at the end.
  package func nextName() throws(PageError) -> ExternalName? {
    try next(MemoryLayout<ExternalName>.stride)?.loadUnaligned(as: ExternalName.self)
  }
}
