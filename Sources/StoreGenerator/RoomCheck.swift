import StoreFormat
import SystemCalls
import SystemPackage

extension StoreGenerator {
  /// Stores with fewer objects are written without checking the disk.
  static let fewRows: Int64 = 100_000
  /// The objects of two samples, whose difference is the size of one more object.
  private static let sampleRows: (few: Int64, more: Int64) = (2_000, 8_000)
  /// What a change of persistent history takes, roughly.
  private static let bytesOfChange: Int64 = 100

  /// Checks that the disk of an output has room for the store.
  ///
  /// - Parameter free: the free bytes; nil reads it from the disk.
  /// - Throws: `GenerationError`.
  func requireRoom(for output: FilePath, free: Int64? = nil) throws(GenerationError) {
    guard rows >= Self.fewRows else { return }
    // Without a sample or free space the store is written anyway.
    guard let needed = try? expectedBytes() else { return }
    let found = (try? Files.freeSpace(at: Files.parent(of: output))).map { Int64(clamping: $0) }
    if let free = free ?? found, free < needed {
      throw GenerationError(.spaceMissing(needed: needed, free: free), at: output)
    }
  }

  /// The bytes of the store with its external files, by samples of it.
  private func expectedBytes() throws -> Int64 {
    let folder = try TemporaryFolder()
    func bytes(of count: Int64) throws -> Int64 {
      let report = try resized(to: count).generate(to: folder.path.appending("\(count).sqlite"))
      return report.storeBytes + report.externalBytes
    }
    let (few, more) = Self.sampleRows
    let perRow = Double(try bytes(of: more) - bytes(of: few)) / Double(more - few)
    return Int64(max(0, perRow) * Double(rows)) + changes * Self.bytesOfChange
  }
}
