import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import Planning
import SystemCalls
package import SystemPackage

/// Finds the mapping models that a migration may use.
struct MappingSearch {
  private(set) var mappings: [RouteMapping] = []
  private(set) var files: [String: MappingFile] = [:]
  /// Mapping models that cannot be read and whose versions are unknown.
  private(set) var unreadable: [UnreadableMapping] = []
  /// Mapping models that cannot be read but whose versions are known; `mappings` has them as
  /// outlines.
  private(set) var outlines: [UnreadableMapping] = []

  /// The files that were looked at, of which one may have several paths.
  private var seen: Set<[UInt64]> = []

  private static let extensions: Set<String> = ["xcmappingmodel", "cdm", "json"]
  private static let maximumDepth = 16
  private static let maximumMembers = 50_000

  /// Reads the mapping models that the request names, those in its mapping folders, and those
  /// beside the models.
  init(_ request: MigrationRequest) throws {
    if request.infersOnly { return }
    for path in request.mappings where isNew(path) {
      take(try MappingFile.read(path), standing: .named)
    }
    for folder in request.mappingFolders {
      for path in try Self.below(folder) { tryToTake(path, standing: .listed) }
    }
    for folder in Self.modelFolders(request: request) {
      // A model may lie in a folder that cannot be listed; then nothing beside it is found.
      guard let names = try? Files.listDirectory(folder) else { continue }
      for name in names.sorted(by: { $0.string < $1.string }) {
        if Self.isMapping(folder.appending(name)) {
          tryToTake(folder.appending(name), standing: .found)
        }
      }
    }
  }

  private static func isMapping(_ path: FilePath) -> Bool {
    path.extension.map(extensions.contains) ?? false
  }

  private mutating func take(
    _ file: MappingFile, standing: RouteMapping.Standing, isOutline: Bool = false
  ) {
    let name = file.path.string
    guard files[name] == nil else { return }
    files[name] = file
    var madeFor: RouteMapping.Pair?
    if let source = try? file.source?.model.versionHashes(),
      let destination = try? file.destination?.model.versionHashes()
    {
      madeFor = .init(source: source, destination: destination)
    }
    mappings.append(
      RouteMapping(
        name: name, standing: standing, mapping: file.mapping, madeFor: madeFor,
        isOutline: isOutline))
  }

  /// Whether no path of this very file was looked at; true where the file is not there.
  private mutating func isNew(_ path: FilePath) -> Bool {
    guard let status = try? Files.fileStatus(path) else { return true }
    return seen.insert([status.device, status.inode]).inserted
  }

  private mutating func tryToTake(_ path: FilePath, standing: RouteMapping.Standing) {
    guard isNew(path) else { return }
    do {
      take(try MappingFile.read(path), standing: standing)
    } catch {
      // Any JSON may lie beside a model.
      if standing == .found, path.extension == "json", !MappingFile.claimsToBeMapping(path) {
        return
      }
      let found = UnreadableMapping(path: path, wasNamed: standing == .listed, error: error)
      if let outline = MappingFile.outline(path: path) {
        outlines.append(found)
        take(outline, standing: standing, isOutline: true)
      } else {
        unreadable.append(found)
      }
    }
  }

  /// All mapping models below a folder, sorted by path.
  ///
  /// - Throws: `MappingFileError`, for more than 50,000 files.
  private static func below(_ folder: FilePath) throws -> [FilePath] {
    if isMapping(folder) { return [folder] }
    var found: [FilePath] = []
    var seen = 0
    var level = [folder]
    for _ in 0..<maximumDepth where !level.isEmpty {
      var next: [FilePath] = []
      for parent in level {
        for name in try Files.listDirectory(parent) {
          seen += 1
          guard seen <= maximumMembers else {
            throw MappingFileError(.damaged(.searchTooWide)).at(file: folder)
          }
          let path = parent.appending(name)
          if isMapping(path) {
            found.append(path)
          } else if try Files.fileStatus(path, followLinks: false).isDirectory {
            next.append(path)
          }
        }
      }
      level = next
    }
    return found.sorted { $0.string < $1.string }
  }

  /// The bundles of models, and the folders that contain them.
  private static func modelFolders(request: MigrationRequest) -> [FilePath] {
    var result: [FilePath] = []
    for place in request.target + request.models {
      guard let bundle = try? ModelBundle(place) else { continue }
      let path = ModelBundle.enclosing(bundle.path)
      for folder in [path.removingLastComponent(), path] {
        let folder = folder.isEmpty ? FilePath(".") : folder
        if !result.contains(folder) { result.append(folder) }
      }
    }
    return result
  }
}

/// A mapping model that cannot be read.
package struct UnreadableMapping: Sendable {
  /// The path of its file.
  package var path: FilePath
  /// Whether it lies in a folder that the request names.
  package var wasNamed: Bool
  /// Why it cannot be read, a `MappingFileError` or a failure to open it.
  package var error: any Error
}
