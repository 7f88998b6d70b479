import SystemCalls
import SystemPackage

/// A store as a file of untrusted pages.
///
/// It knows every page size and any number of reserved bytes, unlike the readers of the page
/// engine, which stop at the first damage.
final class DamagedFile {
  let path: FilePath
  let pageSize: Int
  /// The bytes of a page that hold anything.
  let usable: Int
  /// The whole pages that the file has; those that its header counts beyond them are missing.
  let pageCount: UInt32
  /// The pages that the file had, by its header, or has.
  let pagesExpected: UInt32
  let hasPointerMap: Bool
  let textEncoding: UInt32
  /// What the process may occupy, in bytes.
  let memory: Int64
  private let file: SourceFile
  private var held: [UInt32: [UInt8]] = [:]
  private static let mostHeld = 64

  init(_ path: FilePath, memory: Int64) throws {
    self.memory = memory
    let header = try StoreSalvage.header(of: path)
    self.path = path
    pageSize = header.pageSize
    usable = header.pageSize - header.reservedBytes
    hasPointerMap = header.largestRoot != 0
    textEncoding = (1...3).contains(header.textEncoding) ? header.textEncoding : 1
    file = try SourceFile(path)
    pageCount = UInt32(clamping: file.byteCount / Int64(header.pageSize))
    pagesExpected = header.countsPages ? max(header.pageCount, pageCount) : pageCount
  }

  /// The bytes of a page; nil where the file has no such page or the disk does not give it.
  func page(_ number: UInt32) throws -> [UInt8]? {
    guard number > 0, number <= pageCount else { return nil }
    if let bytes = held[number] { return bytes }
    var bytes = [UInt8](repeating: 0, count: pageSize)
    let start = Int64(number - 1) * Int64(pageSize)
    do {
      let count = try bytes.withUnsafeMutableBytes { try file.read($0, at: start) }
      if count < pageSize { return nil }
    } catch let error as SystemCallError where error.errno == .ioError {
      return nil
    }
    if held.count >= Self.mostHeld { held.removeAll(keepingCapacity: true) }
    held[number] = bytes
    return bytes
  }

  /// Whether a page belongs to SQLite's locks or to the pointer map, and never to a b-tree.
  func isReserved(_ page: UInt32) -> Bool {
    if page == UInt32(0x4000_0000 / pageSize) + 1 { return true }
    return hasPointerMap && page >= 2 && mapPage(page) == page
  }

  /// The pointer map entry of a page: kind and parent; nil without a map.
  func pointer(to page: UInt32) throws -> (kind: UInt8, parent: UInt32)? {
    guard hasPointerMap, page > 2 else { return nil }
    let map = mapPage(page)
    guard map < page, let bytes = try self.page(map) else { return nil }
    let offset = Int(page - map - 1) * 5
    guard offset + 5 <= usable else { return nil }
    return (bytes[offset], UInt32(PageBytes.number(bytes, at: offset + 1, count: 4) ?? 0))
  }

  /// The pointer-map page that describes a page ("Database File Format", section 1.8).
  private func mapPage(_ page: UInt32) -> UInt32 {
    let group = UInt32(usable / 5 + 1)
    let map = (page - 2) / group * group + 2
    return map == UInt32(0x4000_0000 / pageSize) + 1 ? map + 1 : map
  }
}
