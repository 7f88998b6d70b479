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

  /// The files that were read; one file may have several paths.
  private var seen: Set<[UInt64]> = []

  private static let extensions: Set<String> = ["xcmappingmodel", "cdm", "json"]
  private static let maximumDepth = 16
  private static let maximumMembers = 50_000

  /// Reads the mapping models that the request names, those in its mapping folders, and those next
  /// to the models.
  init(_ request: MigrationRequest) throws {
    if request.infersOnly { return }
    for path in request.mappings where isNew(path) {
      take(try MappingFile.read(path), standing: .named)
    }
    for folder in request.mappingFolders {
      for path in try Self.below(folder) { try tryToTake(path, standing: .listed) }
    }
    for folder in try Self.modelFolders(request: request) {
      for name in try Self.names(in: folder).sorted(by: { $0.string < $1.string }) {
        if Self.isMapping(folder.appending(name)) {
          try tryToTake(folder.appending(name), standing: .found)
        }
      }
    }
  }

  /// The names in a folder; none where the folder cannot be listed.
  private static func names(in folder: FilePath) throws -> [FilePath.Component] {
    do throws(SystemCallError) {
      return try Files.listDirectory(folder)
    } catch {
      if error.knownDisposition.contains(.workReusable) { throw error }
      return []
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
    let madeFor = file.versions.map {
      RouteMapping.Pair(source: $0.source, destination: $0.destination)
    }
    mappings.append(
      RouteMapping(
        name: name, standing: standing, mapping: file.mapping, madeFor: madeFor,
        isOutline: isOutline))
  }

  /// The parts that the files of a route's mapping models have besides.
  func notes(of route: MigrationRoute) -> [NotedMapping] {
    route.steps.flatMap(\.mappings).flatMap { mapping in
      (files[mapping.name]?.notes ?? []).map {
        NotedMapping(path: mapping.name, note: $0)
      }
    }
  }

  /// Whether no path of this file was read; true if the file does not exist.
  private mutating func isNew(_ path: FilePath) -> Bool {
    guard let status = try? Files.fileStatus(path) else { return true }
    return seen.insert([status.device, status.inode]).inserted
  }

  private mutating func tryToTake(_ path: FilePath, standing: RouteMapping.Standing) throws {
    guard isNew(path) else { return }
    do {
      take(try MappingFile.read(path), standing: standing)
    } catch {
      // What the system refuses now may be the mapping model that the step needs.
      if error.knownDisposition.contains(.workReusable) { throw error }
      // Any JSON may be next to a model.
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
  private static func modelFolders(request: MigrationRequest) throws -> [FilePath] {
    var result: [FilePath] = []
    for place in request.target + request.models {
      let bundle: ModelBundle
      do throws(ModelFileError) {
        bundle = try ModelBundle(place)
      } catch {
        if error.knownDisposition.contains(.workReusable) { throw error }
        continue
      }
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
