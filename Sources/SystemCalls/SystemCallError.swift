package import SystemPackage

/// A system call that failed.
package struct SystemCallError: Error, Hashable, Sendable {
  /// What was attempted; several system calls may belong to one operation.
  package enum Operation: String, Sendable {
    /// On contents and names of files.
    case open, read, write, reserve, synchronize, lock, rename, link, remove, copy
    /// On attributes, folders and file systems.
    case status, setAttributes, listDirectory, createDirectory, freeSpace, fileSystemKind
    /// On the process itself.
    case pipe, descriptorLimit, ignoreSignal, dieWithParent, execute, connect, send
    /// The question whether a file is of a kind that the caller can use.
    case recognize
  }

  /// What was attempted.
  package var operation: Operation
  /// The file concerned, nil where none or only its descriptor is known.
  package var path: FilePath?
  /// The error number of the system.
  package var errno: Errno

  /// Creates the error of an operation.
  package init(operation: Operation, path: FilePath?, errno: Errno) {
    self.operation = operation
    self.path = path
    self.errno = errno
  }

  /// The error of a file that is of another kind than the caller expects, such as a pipe.
  package init(wrongKindOf path: FilePath) {
    self.init(operation: .recognize, path: path, errno: .invalidArgument)
  }

  /// Whether a file is of another kind than the caller expects, such as a pipe.
  package var isOfWrongKind: Bool { operation == .recognize }

  /// Whether a file cannot get a second name there: the file system or its owner forbids it.
  package var refusesLink: Bool {
    let refusals: [Errno] = [
      .notPermitted, .notSupported, .noFunction, .tooManyLinks, .improperLink, .invalidArgument,
    ]
    return operation == .link && refusals.contains(errno)
  }
}

extension SystemCallError: CustomStringConvertible {
  /// The words of the system for the error.
  package var description: String { "\(errno)" }
}

/// Returns the result of a shim, or throws the error that a negative one stands for.
@discardableResult
func check<Code: SignedInteger>(
  _ code: Code, operation: SystemCallError.Operation, path: FilePath?
) throws(SystemCallError) -> Code {
  if code < 0 {
    throw SystemCallError(operation: operation, path: path, errno: Errno(rawValue: CInt(-code)))
  }
  return code
}

/// Runs calls of SystemPackage, which throw a bare `Errno`, or of this module, and names the
/// operation and the path.
func calling<Result>(
  _ operation: SystemCallError.Operation, path: FilePath?, body: () throws -> Result
) throws(SystemCallError) -> Result {
  do {
    return try body()
  } catch let error as SystemCallError {
    throw SystemCallError(operation: error.operation, path: error.path ?? path, errno: error.errno)
  } catch {
    throw SystemCallError(operation: operation, path: path, errno: error as? Errno ?? .ioError)
  }
}
