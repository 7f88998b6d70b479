package import SystemPackage

/// What was asked of the system, of which file, and what it answered.
package struct SystemCallError: Error, Hashable, Sendable {
  package enum Operation: String, Sendable {
    case open, read, write, reserve, synchronize, lock, rename, link, exchange, remove, copy
    case status, setAttributes, listDirectory, createDirectory, freeSpace, fileSystemKind
    case memoryFile, descriptorLimit, ignoreSignal, dieWithParent
  }

  package var operation: Operation
  package var path: FilePath?
  package var errno: Errno

  package init(operation: Operation, path: FilePath?, errno: Errno) {
    self.operation = operation
    self.path = path
    self.errno = errno
  }
}

/// Turns the answer of a shim, the result or `-errno`, into the result or an error.
@discardableResult
func check<Code: SignedInteger>(
  _ code: Code, operation: SystemCallError.Operation, path: FilePath?
) throws(SystemCallError) -> Code {
  if code < 0 {
    throw SystemCallError(operation: operation, path: path, errno: Errno(rawValue: CInt(-code)))
  }
  return code
}

/// Runs calls of SystemPackage, which throw a bare `Errno`, or several of this module.
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
