/// The exit statuses of the tool, with numbers from `sysexits.h`.
public enum ExitStatus: Int32, Sendable {
  /// Done, or nothing to do.
  case done = 0
  /// The command line, or the request, contradicts itself or names what does not exist.
  case usage = 64
  /// The input is damaged.
  case damaged = 65
  /// A file does not exist.
  case notFound = 66
  /// Another process uses the store.
  case inUse = 69
  /// A fault of Godwit itself.
  case bug = 70
  /// The system has too little memory, or too few processes or open files.
  case system = 71
  /// A permission is missing, or the path of a new file is taken.
  case cannotCreate = 73
  /// A file cannot be written, for example because the disk is full.
  case cannotWrite = 74
  /// The migration was interrupted; the same command resumes it.
  case interrupted = 75
  /// The store cannot be migrated.
  case impossible = 78
}
