/// The exit statuses of the tool, as `sysexits.h` numbers them.
public enum ExitStatus: Int32, Sendable {
  /// Done, or nothing to do.
  case done = 0
  /// What was asked for makes no sense.
  case usage = 64
  /// The input is damaged.
  case damaged = 65
  /// A file is not there.
  case notFound = 66
  /// Somebody else has the store.
  case inUse = 69
  /// A fault of Godwit itself.
  case bug = 70
  /// The system has too little memory, or too few processes or open files.
  case system = 71
  /// A permission is missing, or something has the name.
  case cannotCreate = 73
  /// A file cannot be written, such as for a full disk.
  case cannotWrite = 74
  /// The migration was interrupted and goes on when it is started again.
  case interrupted = 75
  /// The store cannot be migrated.
  case impossible = 78
}
