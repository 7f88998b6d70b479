package import ObjectModel
package import SystemPackage
import Foundation

package struct ModelVersion: Sendable {
  package var name: String
  package var path: FilePath
  package func model() throws -> ManagedObjectModel {
    if path.string.hasSuffix(".mom") {
      return try CompiledModel.model(decoding: FileBytes.read(path))
    }
    return try ModelDocument.model(decoding: FileBytes.read(path.appending("contents")))
  }
}
package struct ModelBundle: Sendable {
  package var versions: [ModelVersion]
  private var currentName: String?
  package init(opening path: FilePath) throws {
    let p = path.string
    func v(_ s: String) -> ModelVersion { ModelVersion(name: FilePath(s).stem ?? "", path: FilePath(s)) }
    if p.hasSuffix(".xcdatamodel") || p.hasSuffix(".mom") { versions = [v(p)]; return }
    let names = try FileManager.default.contentsOfDirectory(atPath: p).sorted()
    versions = names.filter { $0.hasSuffix(".xcdatamodel") || $0.hasSuffix(".mom") }.map { v(p + "/" + $0) }
    for (file, key) in [(".xccurrentversion", "_XCCurrentVersionName"), ("VersionInfo.plist", "NSManagedObjectModel_CurrentVersionName")] {
      if let d = FileManager.default.contents(atPath: p + "/" + file),
        let x = try PropertyListSerialization.propertyList(from: d, format: nil) as? [String: Any], let n = x[key] as? String {
        currentName = (n as String).replacingOccurrences(of: ".xcdatamodel", with: "")
      }
    }
  }
  package var current: ModelVersion { get throws {
    if versions.count == 1 { return versions[0] }
    guard let v = versions.first(where: { $0.name == currentName }) else { throw ModelFileError(.noCurrentVersion) }
    return v
  } }
}
extension ManagedObjectModel {
  package static func merged(_ models: [ManagedObjectModel]) throws -> ManagedObjectModel { models[0] }
  package func restricted(toConfiguration: String) throws -> ManagedObjectModel { self }
}
package enum ModelArchive { package static func encode(_ m: ManagedObjectModel) throws(ModelFileError) -> [UInt8] { throw ModelFileError(.cannotArchive("not yet")) } }
