package import StoreFormat
import SystemCalls
package import SystemPackage

/// The open file whose pages are written: whole pages and entries of the pointer map.
package struct PageFile: Sendable {
  /// The file, which stays the caller's to close.
  package let descriptor: FileDescriptor
  private let source: SourceFile?

  /// Takes a file that is open, for writing if pages are written.
  package init(_ descriptor: FileDescriptor) {
    self.descriptor = descriptor
    source = nil
  }

  /// Takes a store that is read, maybe with the pages of its log.
  package init(_ source: SourceFile) {
    descriptor = source.descriptor
    self.source = source
  }

  /// Writes all bytes, in as many calls as the system takes for it.
  package func write(
    _ bytes: UnsafeRawBufferPointer, at offset: Int64
  ) throws(PageError) {
    do {
      try descriptor.writeAll(bytes, at: offset)
    } catch {
      throw failure(PageError.Problem.write, error)
    }
  }

  private func failure(_ problem: (Int32) -> PageError.Problem, _ error: Errno) -> PageError {
    PageError(problem(error.rawValue), file: Files.path(of: descriptor))
  }

  /// Reads exactly so many bytes as there is room for.
  package func read(
    _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(PageError) {
    guard try readAll(bytes, at: offset) == bytes.count else {
      throw PageError(.endOfFile, file: Files.path(of: descriptor))
    }
  }

  /// Reads as many bytes as there is room for, fewer where the file ends.
  func readAll(
    _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(PageError) -> Int {
    do throws(Errno) {
      guard let source else { return try descriptor.readAll(into: bytes, at: offset) }
      do throws(SystemCallError) {
        return try source.read(bytes, at: offset)
      } catch {
        throw error.errno
      }
    } catch {
      throw failure(PageError.Problem.read, error)
    }
  }

  func read(page: UInt32, into: UnsafeMutableRawPointer) throws(PageError) {
    try read(
      UnsafeMutableRawBufferPointer(start: into, count: PageGeometry.pageSize),
      at: PageGeometry.offset(page: page))
  }

  /// Writes a whole page.
  package func write(page: UInt32, from: UnsafeRawPointer) throws(PageError) {
    try write(
      UnsafeRawBufferPointer(start: from, count: PageGeometry.pageSize),
      at: PageGeometry.offset(page: page))
  }
}

/// Pages of one size in a row, handed out to one writer at a time.
package struct Extent: Hashable, Codable, Sendable {
  /// The pages of a whole extent, 1 MiB, those of the pointer map among them.
  package static let length: UInt32 = 256
  /// The pages of a whole extent where what is left over of the last one matters.
  package static let shortLength: UInt32 = 16

  /// The first page, counted from 1.
  package var first: UInt32
  /// The number of pages, at most `length` where one writer takes it.
  package var count: UInt32

  /// Makes an extent, of full length by default.
  package init(first: UInt32, count: UInt32 = Self.length) {
    self.first = first
    self.count = count
  }

  /// Decodes an extent of a manifest.
  ///
  /// - Throws: `DecodingError` where no file has such pages.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    first = try container.decode(UInt32.self, forKey: .first)
    count = try container.decode(UInt32.self, forKey: .count)
    guard first > 0, count <= UInt32.max - first else {
      throw DecodingError.dataCorruptedError(
        forKey: .count, in: container, debugDescription: "no file has such pages")
    }
  }

  func contains(_ page: UInt32) -> Bool { page >= first && page - first < count }
}

/// Hands out each extent once.
package protocol ExtentSource: AnyObject {
  /// The most pages of an extent.
  var extentLength: UInt32 { get }
  /// Hands out the next extent.
  ///
  /// - Throws: `PageError`, as `fileFull` where no page numbers are left.
  func nextExtent() throws(PageError) -> Extent
}

/// Describes pages in the pointer map.
package protocol PointerMapping: AnyObject {
  /// Sets the pointer map entry of a page: its kind, and the page that points to it, or 0.
  func set(_ page: UInt32, kind: PagePointer, parent: UInt32) throws(PageError)
}

/// Extents of one file for several processes: a log to which each appends what it takes.
///
/// A single process needs no log, and counts. A process on another machine requests extents from
/// the coordinator, which appends to the log for it.
///
/// An appended byte and the place where it landed are one step in the kernel, so two writers never
/// take the same extent, and no record is half written. The values of the bytes do not matter: the
/// manifests list the owner of each extent, and the others are free.
package final class ClaimLog: ExtentSource {
  private let descriptor: FileDescriptor?
  private let ask: (() throws -> Int64)?
  private let firstPage: UInt32
  private var count: Int64 = 0
  /// The pages of each extent.
  package let extentLength: UInt32
  /// The extents that this writer took, neighbours as one.
  package private(set) var taken: [Extent] = []

  /// Uses the descriptor of the log, opened for appending only here; nil if no other process takes
  /// extents.
  ///
  /// The closure `ask` returns the number of an extent from the coordinator. It is nil on the
  /// coordinator's machine.
  package init(
    descriptor: FileDescriptor?, asking ask: (() throws -> Int64)? = nil, firstPage: UInt32,
    extentLength: UInt32 = Extent.length
  ) {
    self.descriptor = descriptor
    self.ask = ask
    self.firstPage = firstPage
    self.extentLength = extentLength
  }

  /// Appends a byte to the log, and takes the extent that its place in the log means.
  package func nextExtent() throws(PageError) -> Extent {
    if let ask {
      count = try Self.asking(ask) + 1
    } else if let descriptor {
      count = try Self.append(to: descriptor)
    } else {
      count += 1
    }
    let extent = try Self.extent(index: count - 1, firstPage: firstPage, length: extentLength)
    if let last = taken.last, last.first + last.count == extent.first {
      taken[taken.count - 1].count += extent.count
    } else {
      taken.append(extent)
    }
    return extent
  }

  private static func asking(_ ask: () throws -> Int64) throws(PageError) -> Int64 {
    do {
      return try ask()
    } catch let error as PageError {
      throw error
    } catch {
      throw PageError(.write((error as? Errno ?? .ioError).rawValue))
    }
  }

  /// The length of the log with one more byte.
  static func append(to log: FileDescriptor) throws(PageError) -> Int64 {
    do {
      var record: UInt8 = 1
      guard try withUnsafeBytes(of: &record, { try log.write($0) }) == 1 else {
        throw Errno.noSpace
      }
      return try log.seek(offset: 0, from: .current)
    } catch {
      throw PageError(.write((error as? Errno ?? .ioError).rawValue), file: Files.path(of: log))
    }
  }

  /// The extent that a byte of the log stands for; for the length of the log, the next one.
  package static func extent(
    index: Int64, firstPage: UInt32, length: UInt32 = Extent.length
  ) throws(PageError) -> Extent {
    let (offset, overflow) = index.multipliedReportingOverflow(by: Int64(length))
    guard index >= 0, !overflow, offset < Int64(UInt32.max) - 1024 - Int64(firstPage) else {
      throw PageError(.fileFull)
    }
    return Extent(first: firstPage + UInt32(offset), count: length)
  }

  /// Makes a log long enough that no extent before `page` is handed out any more.
  package static func lengthen(
    _ log: FileDescriptor, firstPage: UInt32, length: UInt32 = Extent.length, to page: UInt32
  ) throws {
    let count = (Int64(page) - Int64(firstPage) + Int64(length) - 1) / Int64(length)
    if try log.seek(offset: 0, from: .end) < count { try log.resize(to: count) }
  }
}
