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

  package init(_ operation: Operation, _ path: FilePath?, _ errno: Errno) {
    self.operation = operation
    self.path = path
    self.errno = errno
  }
}

/// Turns the answer of a shim, the result or `-errno`, into the result or an error.
@discardableResult
func check<Code: SignedInteger>(
  _ code: Code, _ operation: SystemCallError.Operation, _ path: FilePath?
) throws(SystemCallError) -> Code {
  if code < 0 { throw SystemCallError(operation, path, Errno(rawValue: CInt(-code))) }
  return code
}

/// Runs calls of SystemPackage, which throw a bare `Errno`, or several of this module.
func calling<Result>(
  _ operation: SystemCallError.Operation, _ path: FilePath?, _ body: () throws -> Result
) throws(SystemCallError) -> Result {
  do {
    return try body()
  } catch let error as SystemCallError {
    throw SystemCallError(error.operation, error.path ?? path, error.errno)
  } catch {
    throw SystemCallError(operation, path, error as? Errno ?? .ioError)
  }
}
