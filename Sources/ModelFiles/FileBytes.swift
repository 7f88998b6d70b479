import SystemCalls
package import SystemPackage

/// Reads whole files of limited size.
package enum FileBytes {
  /// The largest file that is read, in bytes; the largest model known has some 50 KB.
  package static let limit = 64 << 20

  /// The bytes of a file.
  ///
  /// - Throws: `ModelFileError` with the file, and with `notFound`, `specialFile`, `unreadable` or
  ///   `tooLarge`.
  package static func read(_ file: FilePath) throws(ModelFileError) -> [UInt8] {
    do {
      let descriptor = try Files.open(file, mode: .readOnly)
      return try descriptor.closeAfter { try readAll(descriptor, file: file) }
    } catch let error as ModelFileError {
      throw error
    } catch let error as SystemCallError {
      let problem: ModelFileError.Problem =
        error.isOfWrongKind
        ? .specialFile
        : error.errno == .noSuchFileOrDirectory ? .notFound : .unreadable(error.errno)
      throw ModelFileError(problem, file: file)
    } catch let error as Errno {
      throw ModelFileError(.unreadable(error), file: file)
    } catch {
      preconditionFailure("reading a file throws a system error: \(error)")
    }
  }

  private static func readAll(_ descriptor: FileDescriptor, file: FilePath) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
      if count == 0 { return bytes }
      guard bytes.count + count <= limit else {
        throw ModelFileError(.tooLarge(limit: limit), file: file)
      }
      bytes += chunk[..<count]
    }
  }
}
