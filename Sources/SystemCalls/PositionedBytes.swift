package import SystemPackage

extension FileDescriptor {
  /// Reads as many bytes from an offset as there is room for, in as many calls as the system takes
  /// for it; fewer where the file ends.
  package func readAll(
    into bytes: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    var done = 0
    while done < bytes.count {
      let count: Int
      do {
        count = try read(
          fromAbsoluteOffset: offset + Int64(done),
          into: UnsafeMutableRawBufferPointer(rebasing: bytes[done...]))
      } catch {
        throw error as? Errno ?? .ioError
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Writes all bytes at an offset, in as many calls as the system takes for it.
  package func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    var done = 0
    while done < bytes.count {
      do {
        done += try write(
          toAbsoluteOffset: offset + Int64(done), UnsafeRawBufferPointer(rebasing: bytes[done...]))
      } catch {
        throw error as? Errno ?? .ioError
      }
    }
  }
}
