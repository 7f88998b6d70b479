import Foundation
package import Mapping
import ObjectMigration
import ObjectModel
import Planning
import StoreFormat
import StoreNames
package import Survey
import SystemCalls
package import SystemPackage

/// What an interrupted run was made for, in so far as its work depends on it.
///
/// Work that was made for anything else is neither taken over nor removed: the user has to request
/// to start over.
package struct RunInputs: ResumableFile {
  package static let formatVersion = 5

  /// Identifies the run in all that is kept of it.
  let id: String
  private var version: String
  fileprivate var fingerprint: SourceFingerprint
  /// The program, where policies or handlers of its own make objects.
  private var program: Program?
  /// Checksums of all versions on the way, of the version hashes for the store's, which is first.
  private var versions: [String]
  /// The mapping models of each step.
  private var mappings: [[MappingModel]]
  private var rules: ResultRules
  private var division: DivisionRules

  init(request: MigrationRequest, prepared: PreparedMigration) throws {
    let steps = prepared.stages.flatMap(\.steps)
    try self.init(
      request: request, source: prepared.survey.access.fingerprint,
      versions: [prepared.survey.metadata.versionHashes.checksum]
        + steps.map {
          try ModelChecksums.checksum(of: $0.destination.model, hashes: $0.destination.hashes)
        },
      program: request.policies.isEmpty ? nil : request.executable)
    mappings = steps.map { $0.mappings.map(\.mapping) }
  }

  /// Takes the rules of a request, and what its steps by inference depend on.
  ///
  /// - Parameters:
  ///   - source: what the store was at the start.
  ///   - versions: checksums of the versions on the way, that of the store first.
  ///   - program: the executable whose own code changes objects; nil where none does.
  /// - Throws: `SystemCallError` where the program cannot be found.
  package init(
    request: MigrationRequest, source: SourceFingerprint, versions: [String], program: FilePath?
  ) throws {
    id = UUID().uuidString
    version = GodwitVersion.current
    fingerprint = source
    self.program = try program.map { try Program($0) }
    self.versions = versions
    mappings = []
    (rules, division) = (request.rules, request.division)
  }

  /// What this run is made for that an earlier one was not.
  package func differences(from earlier: RunInputs) -> [RunDifference] {
    var found: [RunDifference] = []
    if earlier.version != version { found.append(.version(earlier.version)) }
    if earlier.program != program { found.append(.program) }
    if earlier.fingerprint != fingerprint { found.append(.store) }
    if earlier.versions.first != versions.first { found.append(.sourceModel) }
    if earlier.versions.last != versions.last {
      found.append(.targetModel)
    } else if earlier.versions.dropFirst() != versions.dropFirst() {
      found.append(.route)
    } else if earlier.mappings != mappings {
      found.append(.mappings)
    }
    found += RunDifference.options(
      of: division, earlier: earlier.division, default: DivisionRules())
    found += RunDifference.options(of: rules, earlier: earlier.rules, default: ResultRules())
    return found
  }

  /// Whether the store is the one that the run was made for.
  func isMade(for fingerprint: SourceFingerprint) -> Bool { self.fingerprint == fingerprint }
}

/// A program by what it is: each build of it has another size or time.
struct Program: Codable, Hashable {
  private var bytes: Int64
  private var modified: Int64

  fileprivate init(_ executable: FilePath) throws {
    let status = try Files.fileStatus(executable)
    (bytes, modified) = (status.size, status.modified)
  }

  /// The program that has the policies of a request; nil where it has none.
  init?(ofPolicies request: MigrationRequest) throws {
    guard !request.policies.isEmpty, let executable = request.executable else { return nil }
    try self.init(executable)
  }
}

/// In what an interrupted run differs from one that would take up its work.
package enum RunDifference: Hashable, Sendable {
  case store, sourceModel, targetModel, route, mappings
  /// The program has other policies or handlers, for all that is known.
  case program
  /// What the option was; empty where it was not given.
  case option(MigrationOption, earlier: String)
  /// The version of Godwit that it was.
  case version(String)
}

extension Workspace {
  /// What the run whose work is there was made for; nil where none has got so far, or where it
  /// is damaged.
  ///
  /// - Throws: `PlaceError.workFolderForeign`, for inputs in the form of another version.
  func runInputs() throws -> RunInputs? {
    try VersionedFile<RunInputs>.content(at: paths.run, limit: 1 << 30)
  }

  /// Whether a run has noted here what it was made for, or has begun to put a result in its place.
  var hasBegun: Bool {
    get throws {
      try [paths.run, paths.swapJournal].contains {
        try Files.fileStatusIfPresent($0, followLinks: false) != nil
      }
    }
  }

  /// Notes that the run itself has moved the log of its store into the main file: what was done
  /// is still of that store.
  func note(_ fingerprint: SourceFingerprint) throws {
    guard var inputs = try runInputs() else { return }
    if var saved = try savedPlan() {
      saved.fingerprint = fingerprint
      try save(saved, syncs: true)
    }
    inputs.fingerprint = fingerprint
    try Files.writeFileAtomically(VersionedFile(inputs).sealed(), to: paths.run)
  }

  /// Takes up the work of an interrupted run, or notes what this one is made for.
  ///
  /// - Parameter syncs: whether the work is worth finding again after a crash of the system; inputs
  ///   that such a crash damages are none.
  /// - Throws: `PlaceError.otherRun` where the work was made for something else.
  mutating func begin(_ inputs: @autoclosure () throws -> RunInputs, syncs: Bool) throws {
    if let earlier = try runInputs() {
      let differences = try inputs().differences(from: earlier)
      guard differences.isEmpty else {
        throw PlaceError.otherRun(work: paths.work, differences)
      }
      run = earlier.id
      return
    }
    // Work without inputs is not resumed.
    try clear(keeping: paths.filesOfRun)
    guard keepsWork else { return }
    let inputs = try inputs()
    try Files.writeFileAtomically(VersionedFile(inputs).sealed(), to: paths.run, syncs: syncs)
    run = inputs.id
  }

  /// Whether work orders or stages are done, which a later run need not do again.
  var hasDoneSomething: Bool {
    get throws {
      try [paths.work, paths.stage(number: 1).work].contains { folder in
        guard try Files.fileStatusIfPresent(folder)?.isDirectory == true else { return false }
        return try Files.listDirectory(folder).contains { name in
          WorkFile.withoutTemporarySuffix(name.string[...]) == nil
            && WorkFile(name).map { [.manifest, .stageMarker].contains($0) } ?? false
        }
      }
    }
  }
}
