import CZlib

/// Raw deflate streams without zlib's header, as in `Z_MODELCACHE`.
package enum Deflate {
  /// Why bytes could not be compressed or decompressed.
  package enum Problem: Error, Hashable, Sendable {
    /// The bytes are not a deflate stream.
    case damaged
    /// The stream ends early.
    case truncated
    /// The stream decompresses to more bytes than allowed.
    case tooLarge(limit: Int)
    /// zlib had no memory for its state.
    case outOfMemory
  }

  /// Decompresses a stream to at most `limit` bytes.
  package static func inflate(_ bytes: [UInt8], limit: Int) throws(Problem) -> [UInt8] {
    var stream = z_stream()
    guard
      inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw .outOfMemory }
    defer { inflateEnd(&stream) }
    var input = bytes
    var result: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    var code = Z_OK
    input.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = UInt32(source.count)
      repeat {
        chunk.withUnsafeMutableBufferPointer { target in
          stream.next_out = target.baseAddress
          stream.avail_out = UInt32(target.count)
          code = CZlib.inflate(&stream, Z_NO_FLUSH)
        }
        result += chunk[..<(chunk.count - Int(stream.avail_out))]
      } while code == Z_OK && result.count <= limit
        && (stream.avail_in > 0 || stream.avail_out == 0)
    }
    if result.count > limit { throw .tooLarge(limit: limit) }
    switch code {
    case Z_STREAM_END: return result
    case Z_OK, Z_BUF_ERROR: throw .truncated
    default: throw .damaged
    }
  }

  /// Compresses bytes at level 5, which the streams in Core Data's stores show.
  package static func deflate(_ bytes: [UInt8]) throws(Problem) -> [UInt8] {
    var stream = z_stream()
    guard
      deflateInit2_(
        &stream, 5, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw .outOfMemory }
    defer { deflateEnd(&stream) }
    var input = bytes
    var result = [UInt8](
      repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let code = input.withUnsafeMutableBufferPointer { source in
      result.withUnsafeMutableBufferPointer { target in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(target.count)
        return CZlib.deflate(&stream, Z_FINISH)
      }
    }
    guard code == Z_STREAM_END else { throw .damaged }
    return Array(result.prefix(result.count - Int(stream.avail_out)))
  }
}
