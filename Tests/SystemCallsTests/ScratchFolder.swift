import Foundation
import SystemCalls
import SystemPackage

/// Runs `body` with an empty folder that is gone afterwards.
func withScratchFolder<Result>(_ body: (FilePath) throws -> Result) throws -> Result {
  let folder = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
  try Files.createDirectory(folder)
  defer { try? Files.removeTree(folder) }
  return try body(folder)
}
