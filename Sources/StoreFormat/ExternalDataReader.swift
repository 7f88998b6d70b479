import SystemCalls
package import SystemPackage

/// Reads the files of a store's external binary data, one after another, into the same memory.
package final class ExternalDataReader {
  /// Files of so many bytes are too long.
  private static let tooLong = 4 << 20

  private lazy var folder = ExternalDataFolder.opened(support: support)
  private let support: FilePath
  private let name = UnsafeMutablePointer<CChar>.allocate(
    capacity: ExternalDataFolder.nameLength + 1)
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

  /// Takes the store's support folder, which need not be there.
  package init(support: FilePath) { self.support = support }

  deinit {
    name.deallocate()
    memory.deallocate()
  }

  /// The contents of the file that an external value names, valid until the next one is read; nil
  /// if `ExternalDataFolder` has to read it or to report the error.
  ///
  /// - Parameter text: the name, up to a NUL or the end.
  package func read(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard setName(text), let folder else { return nil }
    while true {
      switch folder.read(name, into: memory) {
      case .read(let count): return UnsafeRawBufferPointer(rebasing: memory[..<count])
      case .failed: return nil
      case .tooLong:
        if memory.count >= Self.tooLong { return nil }
        let count = memory.count * 4
        memory.deallocate()
        memory = .allocate(byteCount: count, alignment: 16)
      }
    }
  }

  /// Takes a name that can only be that of a file in the folder: digits, letters and hyphens.
  private func setName(_ text: UnsafeRawBufferPointer) -> Bool {
    var count = 0
    for byte in text.prefix(ExternalDataFolder.nameLength + 1) {
      if byte == 0 { break }
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
        guard count < ExternalDataFolder.nameLength else { return false }
        name[count] = CChar(bitPattern: byte)
        count += 1
      default: return false
      }
    }
    name[count] = 0
    return count > 0
  }
}
