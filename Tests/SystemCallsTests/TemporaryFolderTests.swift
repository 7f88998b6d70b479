import Foundation
import SystemCalls
import SystemPackage
import Testing

@Suite struct TemporaryFolderTests {
  @Test func `a temporary folder goes with all that is in it, and nothing that links lead to`()
    throws
  {
    let kept = try TemporaryFolder()
    let file = kept.path.appending("kept")
    try Files.writeFileAtomically([1], to: file)
    var folder: TemporaryFolder? = try TemporaryFolder()
    let path = try #require(folder?.path)
    let deep = path.appending(".New_SUPPORT").appending("_EXTERNAL_DATA")
    try FileManager.default.createDirectory(
      atPath: deep.string, withIntermediateDirectories: true)
    try Files.writeFileAtomically([1], to: deep.appending("value"))
    for (name, place) in [("file", file), ("folder", kept.path)] {
      try FileManager.default.createSymbolicLink(
        atPath: deep.appending(name).string, withDestinationPath: place.string)
    }
    folder = nil
    #expect(try Files.fileStatusIfPresent(path, followLinks: false) == nil)
    #expect(try Files.listDirectory(kept.path).map(\.string) == ["kept"])
  }
}
