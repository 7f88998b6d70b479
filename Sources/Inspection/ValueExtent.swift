/// How much of a long text or binary value is read for people.
package enum ValueExtent: Sendable {
  /// So much as fits on a line.
  case beginning
  /// All of up to 64 MiB.
  case whole

  /// How many characters of a text are shown.
  var characters: Int {
    switch self {
    case .beginning: 120
    case .whole: .max
    }
  }

  /// How many bytes of a binary value are shown.
  var bytes: Int {
    switch self {
    case .beginning: 16
    case .whole: 64 << 20
    }
  }

  /// How many bytes of a text are read.
  var textBytes: Int {
    switch self {
    case .beginning: CellReader.headBytes
    case .whole: 64 << 20
    }
  }
}
