import Foundation
import ModelFiles
import ObjectModel
import SystemPackage
import Testing

@Suite struct ModelLibraryTests {
  private func version(in folder: URL, _ content: String?) throws -> ModelVersion {
    let path = folder.appending(path: "One.xcdatamodel")
    try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    try content?.write(
      to: path.appending(path: "contents"), atomically: true, encoding: .utf8)
    return ModelVersion(name: "One", path: FilePath(path.path))
  }

  private func model(_ entity: String) -> String {
    """
    <?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" \
    documentVersion="1.0"><entity name="\(entity)"/></model>
    """
  }

  @Test func `a version is read once, whatever becomes of its file`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "godwit-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let version = try version(in: folder, model("Note"))
    let library = ModelLibrary()
    let hashes = try #require(library.hashes(of: version))
    _ = try self.version(in: folder, model("Other"))
    #expect(try library.model(of: version).entities.map(\.name) == ["Note"])
    #expect(library.hashes(of: version) == hashes)
    #expect(try ModelLibrary().model(of: version).entities.map(\.name) == ["Other"])
  }

  @Test func `a version that cannot be read fails each time, and has no hashes`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "godwit-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let version = try version(in: folder, nil)
    let library = ModelLibrary()
    for _ in 0..<2 {
      #expect(throws: ModelFileError.self) { try library.model(of: version) }
      #expect(library.hashes(of: version) == nil)
    }
  }
}
