/// Takes the rows of one table of an export, value by value.
///
/// Each row has as many values as the table has columns, then `endRow()`.
protocol RowSink: AnyObject {
  func putNull() throws
  func put(integer: Int64) throws
  func put(boolean: Bool) throws
  func put(real: Double) throws
  /// A number as decimal digits, which JSON allows.
  func put(digits: UnsafeBufferPointer<UInt8>) throws
  /// A text in well-formed UTF-8.
  func put(text: UnsafeBufferPointer<UInt8>) throws
  func put(bytes: UnsafeRawBufferPointer) throws
  /// A value as JSON without line breaks.
  func put(json: [UInt8]) throws
  /// The path of a file in the folder of the export that has the value.
  func put(file: String) throws
  func endRow() throws
  /// Writes all that is still in memory.
  func close() throws
}

extension RowSink {
  func put(text: [UInt8]) throws { try text.withUnsafeBufferPointer { try put(text: $0) } }
}
