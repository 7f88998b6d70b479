import Foundation
public import SystemPackage

/// A file in the Static Analysis Results Interchange Format (SARIF 2.1.0) for code scanning.
public struct SARIFReportFile: Sendable {
  private let file: OutputFile
  private let root: RepositoryRoot

  /// Checks, before anything else is done, that the file can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - stores: the stores whose own files are not replaced.
  ///   - root: the folder that paths of the repository begin with.
  ///   - folder: the folder that relative paths begin with.
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(
    _ path: FilePath, besides stores: [FilePath], root: FilePath, in folder: FilePath
  ) throws(MigrationFailure) {
    file = try OutputFile(path, besides: stores) { bytes in
      let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
      return object?["version"] as? String == SARIFLog.currentVersion && object?["runs"] != nil
    }
    self.root = RepositoryRoot(root: root, folder: folder)
  }

  /// Writes annotations, atomically.
  ///
  /// - Throws: `MigrationFailure`, if the file cannot be written.
  public func write(_ annotations: [CheckReport.Annotation]) throws(MigrationFailure) {
    try file.write(
      try JSONOutput.text(value: SARIFLog(annotations, root: root)).text + "\n",
      as: "the stores are checked, but the report of that")
  }
}

/// A log as SARIF 2.1.0 has it.
private struct SARIFLog: Encodable {
  static let currentVersion = "2.1.0"

  struct Text: Encodable { var text: String }

  struct Rule: Encodable {
    var id: String
    var shortDescription: Text
    var helpUri: String?
  }

  struct Driver: Encodable {
    var name = "godwit"
    var semanticVersion = ToolProcess.version
    var rules: [Rule]
  }

  struct Tool: Encodable { var driver: Driver }

  struct Region: Encodable { var startLine: Int }

  struct Artifact: Encodable { var uri: String }

  struct PhysicalLocation: Encodable {
    var artifactLocation: Artifact
    var region: Region
  }

  struct Location: Encodable { var physicalLocation: PhysicalLocation }

  struct Result: Encodable {
    var ruleId: String
    var level: String
    var message: Text
    var locations: [Location]
    var partialFingerprints: [String: String]
  }

  struct Run: Encodable {
    var tool: Tool
    var results: [Result]
  }

  let schema = "https://json.schemastore.org/sarif-2.1.0.json"
  let version = Self.currentVersion
  var runs: [Run]

  private enum CodingKeys: String, CodingKey {
    case schema = "$schema"
    case version, runs
  }

  init(_ annotations: [CheckReport.Annotation], root: RepositoryRoot) {
    let rules = Set(annotations.map(\.rule)).sorted().map {
      Rule(id: $0, shortDescription: Text(text: Self.words(rule: $0)))
    }
    let results = annotations.map { annotation in
      let path = annotation.path(root)
      let uri = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
      return Result(
        ruleId: annotation.rule, level: annotation.level.rawValue,
        message: Text(text: annotation.text),
        locations: [
          Location(
            physicalLocation: PhysicalLocation(
              artifactLocation: Artifact(uri: uri),
              region: Region(startLine: annotation.place?.line ?? 1)))
        ],
        partialFingerprints: ["godwit/v1": annotation.fingerprint(root)])
    }
    runs = [Run(tool: Tool(driver: Driver(rules: rules)), results: results)]
  }

  private static func words(rule: String) -> String {
    if rule == "loss" { return "A migration loses data." }
    if rule == "missingVersion" {
      return "No version of the model has the version hashes of a store."
    }
    if rule == "model" { return "The model cannot be read." }
    if rule == "store" { return "A store cannot be read or migrated." }
    return VersionLock.Problem.Kind(rawValue: rule) == nil
      ? "A store cannot be migrated: \(rule)." : "A released version of the model: \(rule)."
  }
}
