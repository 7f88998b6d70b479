import Foundation
import KeyedArchives
package import ObjectModel
import SystemCalls
package import SystemPackage

/// One version of a model, in a file of its own.
package struct ModelVersion: Hashable, Sendable {
  /// The name of the file without extension, as Xcode names versions.
  package var name: String
  /// An `.xcdatamodel` folder or a `.mom` file.
  package var path: FilePath

  /// Names a version; the file is read by `model`.
  package init(name: String, path: FilePath) {
    self.name = name
    self.path = path
  }

  /// Reads the file.
  ///
  /// - Throws: `ModelFileError`.
  package func model() throws(ModelFileError) -> ManagedObjectModel {
    let file = path.extension == "xcdatamodel" ? path.appending("contents") : path
    do throws(ModelFileError) {
      if path.extension == "xcdatamodel" {
        return try ModelDocument.model(decoding: try sourceBytes(contents: file))
      }
      return try CompiledModel.model(decoding: try FileBytes.read(file))
    } catch {
      throw error.at(file: file)
    }
  }

  private func sourceBytes(contents: FilePath) throws(ModelFileError) -> [UInt8] {
    do {
      return try FileBytes.read(contents)
    } catch {
      let old = path.appending("elements").string
      guard error.problem == .notFound, FileManager.default.fileExists(atPath: old) else {
        throw error
      }
      throw ModelFileError(.modelBeforeXcode4, file: path)
    }
  }
}

/// The versions of a model, from a source or compiled bundle or a single file.
package struct ModelBundle: Hashable, Sendable {
  /// The path of the bundle or the file; for a folder that of the model in it.
  package let path: FilePath
  /// The versions by name, with numbers in their order; at least one.
  package let versions: [ModelVersion]
  /// The name of the current version, nil if there are several and the bundle names none.
  private let currentName: String?
  /// Why the version file could not be read; the versions can be used all the same.
  private let currentProblem: ModelFileError?

  /// Opens an `.xcdatamodeld`, `.momd`, `.xcdatamodel` or `.mom`, or a folder that contains exactly
  /// one.
  ///
  /// - Throws: `ModelFileError`, for no model or several.
  package init(_ path: FilePath) throws(ModelFileError) {
    guard let folder = try Folder.kind(of: path) else {
      throw ModelFileError(.notFound, file: path)
    }
    switch (path.extension, folder) {
    case ("xcdatamodel"?, true), ("mom"?, false):
      self.init(path: path, versions: [Self.version(path: path)], current: nil)
    case ("xcdatamodeld"?, true):
      let versions = try Folder.members(of: path).filter { $0.extension == "xcdatamodel" }
      try self.init(path: path, files: versions) { () throws(ModelFileError) in
        try Self.currentOfSources(path)
      }
    case ("momd"?, true):
      let versions = try Folder.members(of: path).filter { $0.extension == "mom" }
      try self.init(path: path, files: versions) { () throws(ModelFileError) in
        try Self.currentOfCompiled(path)
      }
    case (_, true):
      let found = try Folder.models(in: path)
      guard found.count <= 1 else { throw ModelFileError(.severalModels(found), file: path) }
      guard let only = found.first else { throw ModelFileError(.noModel, file: path) }
      try self.init(only)
    default: throw ModelFileError(.noModel, file: path)
    }
  }

  private init(
    path: FilePath, versions: [ModelVersion], current: String?,
    problem: ModelFileError? = nil
  ) {
    self.path = path
    self.versions = versions
    currentName = current ?? (versions.count == 1 ? versions[0].name : nil)
    currentProblem = problem
  }

  private init(
    path: FilePath, files: [FilePath], current: () throws(ModelFileError) -> String?
  ) throws(ModelFileError) {
    guard !files.isEmpty else { throw ModelFileError(.noModel, file: path) }
    let versions = files.map { Self.version(path: $0) }
      .sorted { NaturalOrder.before($0.name, $1.name) }
    do {
      self.init(path: path, versions: versions, current: try current())
    } catch {
      self.init(path: path, versions: versions, current: nil, problem: error)
    }
  }

  /// The bundle that contains a version, or the path itself.
  package static func enclosing(_ path: FilePath) -> FilePath {
    let path = path.lexicallyNormalized()
    let parent = path.removingLastComponent()
    switch (path.extension, parent.extension) {
    case ("xcdatamodel", "xcdatamodeld"), ("mom", "momd"): return parent
    default: return path
    }
  }

  private static func version(path: FilePath) -> ModelVersion {
    ModelVersion(name: path.stem ?? path.string, path: path)
  }

  /// The version that new stores get.
  ///
  /// - Throws: `ModelFileError`, if the bundle does not name it, or does not have it.
  package func current() throws(ModelFileError) -> ModelVersion {
    guard let currentName else {
      throw currentProblem ?? ModelFileError(.noCurrentVersion, file: path)
    }
    guard let version = versions.first(where: { $0.name == currentName }) else {
      throw ModelFileError(.currentVersionMissing(currentName), file: path)
    }
    return version
  }

  /// The version of this name, with or without its extension.
  ///
  /// - Throws: `ModelFileError` with `versionMissing`.
  package func version(named name: String) throws(ModelFileError) -> ModelVersion {
    let matching = versions.first { $0.name == name || $0.path.lastComponent?.string == name }
    guard let matching else {
      throw ModelFileError(.versionMissing(name, available: versions.map(\.name)), file: path)
    }
    return matching
  }

  private static func currentOfSources(_ bundle: FilePath) throws(ModelFileError) -> String? {
    let file = bundle.appending(".xccurrentversion")
    guard let list = try versionFile(file: file) else { return nil }
    // Xcode writes an empty dictionary if no version was ever selected.
    guard let value = list["_XCCurrentVersionName"] else { return nil }
    guard let name = value.stringValue else {
      throw ModelFileError(.damagedPropertyList, file: file)
    }
    return FilePath(name).stem ?? name
  }

  private static func currentOfCompiled(_ bundle: FilePath) throws(ModelFileError) -> String? {
    let file = bundle.appending("VersionInfo.plist")
    guard let list = try versionFile(file: file) else { return nil }
    guard let value = list["NSManagedObjectModel_CurrentVersionName"] else { return nil }
    guard let name = value.stringValue else {
      throw ModelFileError(.damagedPropertyList, file: file)
    }
    return name
  }

  private static func versionFile(
    file: FilePath
  ) throws(ModelFileError) -> [ExactText: PropertyList]? {
    let bytes: [UInt8]
    do {
      bytes = try FileBytes.read(file)
    } catch {
      if error.problem == .notFound { return nil }
      throw error
    }
    guard let list = PropertyListFile.dictionary(decoding: bytes) else {
      throw ModelFileError(.damagedPropertyList, file: file)
    }
    return list
  }
}

/// Searches folders for models.
private enum Folder {
  /// Whether the path is that of a folder, nil if it does not exist.
  static func kind(of path: FilePath) throws(ModelFileError) -> Bool? {
    do {
      try FileDescriptor.open(path, .readOnly, options: [.directory, .nonBlocking, .closeOnExec])
        .close()
      return true
    } catch Errno.notDirectory {
      // A file, or nothing below one.
      return FileManager.default.fileExists(atPath: path.string) ? false : nil
    } catch let error as Errno where error != .permissionDenied {
      let isMissing = [.noSuchFileOrDirectory, .fileNameTooLong, .tooManySymbolicLinkLevels]
        .contains(error)
      if isMissing { return nil }
      throw ModelFileError(.unreadable(error), file: path)
    } catch {
      var isFolder: ObjCBool = false
      let isThere = FileManager.default.fileExists(atPath: path.string, isDirectory: &isFolder)
      return isThere ? isFolder.boolValue : nil
    }
  }

  static func members(of path: FilePath) throws(ModelFileError) -> [FilePath] {
    do {
      return try Files.listDirectory(path).map { path.appending($0) }
    } catch {
      throw ModelFileError(.unreadable(error.errno), file: path)
    }
  }

  private static let modelExtensions: Set<String> = ["xcdatamodeld", "momd", "xcdatamodel", "mom"]

  /// The models below a folder, without those inside other models.
  ///
  /// Applications have their model a few folders deep; the limits keep a wrong path, such as the
  /// root of the file system, from being searched completely.
  static func models(in folder: FilePath) throws(ModelFileError) -> [FilePath] {
    var found: [FilePath] = []
    var seen = 0
    var level = [folder]
    for _ in 0..<8 where !level.isEmpty {
      var next: [FilePath] = []
      for path in level {
        for member in try members(of: path) {
          seen += 1
          guard seen <= 50_000 else { throw ModelFileError(.searchTooWide, file: folder) }
          if modelExtensions.contains(member.extension ?? "") {
            found.append(member)
          } else if try isWorthSearching(member) {
            next.append(member)
          }
        }
      }
      level = next
    }
    return found
  }

  /// Folders whose names begin with a dot have build products and repositories, with copies of the
  /// model.
  private static func isWorthSearching(_ path: FilePath) throws(ModelFileError) -> Bool {
    guard try kind(of: path) == true, path.lastComponent?.string.hasPrefix(".") == false else {
      return false
    }
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path.string)
    return target == nil
  }
}

/// The order of names with numbers: `Model 2` before `Model 10`.
private enum NaturalOrder {
  static func before(_ first: String, _ second: String) -> Bool {
    let (one, other) = (pieces(text: first), pieces(text: second))
    for (a, b) in zip(one, other) where a != b {
      guard let x = Int(a), let y = Int(b), x != y else { return a < b }
      return x < y
    }
    return one.count < other.count
  }

  private static func pieces(text: String) -> [String] {
    var result: [String] = []
    var wasDigit = false
    for character in text {
      let isDigit = character.isASCII && character.isNumber
      if result.isEmpty || isDigit != wasDigit { result.append("") }
      result[result.count - 1].append(character)
      wasDigit = isDigit
    }
    return result
  }
}
