import Foundation
package import MigrationEngine
package import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
package import SystemPackage

/// The bytes of disk that a migration takes at its peak, by purpose.
///
/// The shares of the source that several stages take were measured
/// (docs/explanation/performance.md, "Disk"); models that add much to each object take more there.
package struct DiskNeed: Hashable, Codable, Sendable {
  /// Shards and temporary files, and the stores between stages.
  package var work: Int64
  /// The new store.
  package var result: Int64
  /// Files of external binary data that are copied to the destination.
  package var external: Int64

  /// All purposes together, at most `Int64.max`.
  package var bytes: Int64 { Self.sum(numbers: [work, result, external]) }

  /// Estimates the need from the size of the source, where there is no plan yet.
  ///
  /// - Parameters:
  ///   - sourceBytes: the source with its `-wal`.
  ///   - walBytes: the `-wal`, whose pages are copied, where that is still to be done.
  ///   - stages: from the second one on, the work folder also holds the store of the stage before.
  ///   - shardTenths: the size of the shards in tenths of the source
  ///     (`MigrationEngine.shardTenths`).
  ///   - externalBytes: files of external binary data that the destination gets copies of.
  package init(
    sourceBytes: Int64, walBytes: Int64 = 0, stages: Int = 1, shardTenths: Int64 = 14,
    externalBytes: Int64 = 0
  ) {
    // What adds attributes and renumbers grows a little.
    result = Self.share(bytes: sourceBytes, tenths: 11, of: 10)
    work = Self.share(bytes: sourceBytes, tenths: shardTenths, of: 10) + (24 << 20)
    work = Self.sum(numbers: [work, walBytes])
    external = externalBytes
    guard stages > 1 else { return }
    // The store that a stage begins with has its external files next to it, and so has the next
    // one.
    work = Self.sum(numbers: [work, result, externalBytes, externalBytes])
  }

  /// Estimates the need of stages; each may take the bytes of files into rows.
  init(
    of stages: [Stage], survey: StoreSurvey, request: MigrationRequest, shardTenths: Int64,
    walBytes: Int64 = 0
  ) {
    let files = MigrationPaths.externalBytes(of: survey.store)
    let readsFiles = stages.contains { ExternalUses(stage: $0, survey: survey).contain(.read) }
    self.init(
      sourceBytes: Self.sum(numbers: [survey.sourceBytes, readsFiles ? files : 0]),
      walBytes: walBytes, stages: stages.count, shardTenths: shardTenths, externalBytes: files)
    if request.output == nil { external = 0 }
  }

  /// Estimates the need of a single stage from its plan.
  ///
  /// - Parameters:
  ///   - plan: which rows and indexes are made.
  ///   - engine: how they are made.
  ///   - stage: the stage that is planned.
  ///   - walBytes: the `-wal`, whose pages are copied, where that is still to be done.
  ///   - externalBytes: files of external binary data that the destination gets copies of.
  /// - Throws: `StoreError` where the source cannot be read.
  package init(
    of plan: MigrationPlan, by engine: some MigrationEngine, stage: StageInput,
    walBytes: Int64 = 0, externalBytes: Int64 = 0
  ) throws {
    external = externalBytes
    switch stage.work {
    case .objects(let mappings, _):
      let sizes = ObjectSizes(
        of: mappings, plan: plan, stage: stage,
        sourceBytes: Self.sum(numbers: [stage.survey.sourceBytes, stage.bytesFromFiles]))
      (result, work) = (sizes.result, Self.sum(numbers: [sizes.shards, walBytes]))
    case .rows:
      let sizes = try ResultSizes(of: plan, stage: stage)
      // What stays is copied where blocks are not shared.
      let copied = plan.staying.isEmpty || engine.sharesBlocks ? 0 : stage.survey.sourceBytes
      result = Self.sum(numbers: [sizes.result, copied])
      work = Self.sum(numbers: [type(of: engine).workBytes(beside: sizes), walBytes])
    }
  }

  private static func share(bytes: Int64, tenths: Int64, of whole: Int64) -> Int64 {
    let (product, overflow) = bytes.multipliedReportingOverflow(by: tenths)
    return overflow ? .max / 8 : product / whole
  }

  private static func sum(numbers: [Int64]) -> Int64 {
    numbers.reduce(0) { sum, next in
      let (result, overflow) = sum.addingReportingOverflow(next)
      return overflow ? .max : result
    }
  }
}

/// A file system with too little free space.
package struct DiskShortage: Hashable, Sendable {
  /// One of the folders on it to which the migration writes.
  package var path: FilePath
  /// Bytes that the migration would write to it.
  package var needed: Int64
  /// Bytes that are free on it.
  package var available: Int64
  /// What would be written to it, in words for a message.
  package var purposes: [String]
  /// The bytes that an edit of the store itself would write; nil where that is not possible.
  package var neededByEdit: Int64? = nil

  /// Checks that the wanted bytes fit on their file systems.
  ///
  /// - Throws: `PlaceError.diskFull`, with all file systems on which they do not.
  static func requireRoom(
    for wanted: [(folder: FilePath, bytes: Int64, purpose: String)]
  ) throws {
    let shortages = try find(wanted: wanted)
    if !shortages.isEmpty { throw PlaceError.diskFull(shortages) }
  }

  /// The file systems on which the wanted bytes do not fit; folders of one device are added up.
  package static func find(
    wanted: [(folder: FilePath, bytes: Int64, purpose: String)],
    device: (FilePath) throws -> UInt64 = { try Files.fileStatus($0).device },
    room: (FilePath) throws -> Int64 = { Int64(clamping: try Files.freeSpace(at: $0)) }
  ) rethrows -> [DiskShortage] {
    var disks: [(device: UInt64, shortage: DiskShortage)] = []
    for (folder, bytes, purpose) in wanted where bytes > 0 {
      let device = try device(folder)
      if let index = disks.firstIndex(where: { $0.device == device }) {
        let (sum, overflow) = disks[index].shortage.needed.addingReportingOverflow(bytes)
        disks[index].shortage.needed = overflow ? .max : sum
        disks[index].shortage.purposes.append(purpose)
      } else {
        let shortage = DiskShortage(
          path: folder, needed: bytes, available: try room(folder), purposes: [purpose])
        disks.append((device, shortage))
      }
    }
    return disks.map(\.shortage).filter { $0.needed > $0.available }
  }
}

extension Workspace {
  /// Checks that the disks have room for what is still to be written.
  ///
  /// - Throws: `PlaceError.diskFull`; `NeedsFolder` for more than a temporary workspace holds.
  func requireSpace(_ need: DiskNeed) throws {
    if isTemporary, need.bytes > Self.mostTemporaryBytes { throw NeedsFolder() }
    // What an interrupted migration left is taken over, or removed first.
    let there = Self.bytes(in: paths.work, but: paths.copiesOfSource)
    let isInside = Files.parent(of: paths.result) == paths.work
    let made = isInside ? 0 : (try Files.fileStatusIfPresent(paths.result))?.size ?? 0
    let inside = isInside ? need.work + need.result : need.work
    try DiskShortage.requireRoom(for: [
      (paths.work, max(0, inside - there), isInside ? "work and the new store" : "work"),
      (Files.parent(of: paths.result), isInside ? 0 : max(0, need.result - made), "the new store"),
      (Files.parent(of: paths.destination), need.external, "external files"),
      (Files.parent(of: paths.result), try copyOfOld(), "the old store, which is kept"),
    ])
  }

  /// Throws where what is left to be written once the result is made has no room.
  func requireSpace(forExternal bytes: Int64) throws {
    try DiskShortage.requireRoom(for: [
      (Files.parent(of: paths.destination), bytes, "external files"),
      (Files.parent(of: paths.result), try copyOfOld(), "the old store, which is kept"),
    ])
  }

  private func copyOfOld() throws -> Int64 {
    keepsByCopy ? try Files.fileStatusIfPresent(paths.destination)?.size ?? 0 : 0
  }

  private static func bytes(in folder: FilePath, but left: Set<FilePath>) -> Int64 {
    let names = (try? Files.listDirectory(folder)) ?? []
    return names.reduce(0) { sum, name in
      let path = folder.appending(name)
      let status = try? Files.fileStatusIfPresent(path, followLinks: false)
      return left.contains(path) || status?.kind != .file ? sum : sum + (status?.size ?? 0)
    }
  }
}

extension StoreSurvey {
  /// The bytes of the store with the changes next to it.
  var sourceBytes: Int64 {
    max(access.fingerprint.bytes, access.bytes)
  }
}

extension SourceAccess {
  /// Checks that there is room for the pages of a store's `-wal`.
  ///
  /// - Throws: `PlaceError.diskFull`.
  static func requireSpace(forPagesOf store: FilePath, in folder: FilePath) throws {
    let bytes = try Files.fileStatusIfPresent(FilePath("\(store)-wal"))?.size ?? 0
    try DiskShortage.requireRoom(for: [(folder, bytes, "the pages of the -wal")])
  }

  /// Checks that there is room for a copy of a store with its `-wal` and `-journal`.
  ///
  /// - Throws: `PlaceError.diskFull`.
  static func requireSpace(forCopyOf store: FilePath, in folder: FilePath) throws {
    var bytes: Int64 = 0
    for suffix in [""] + StoreFile.changeSuffixes {
      bytes += try Files.fileStatusIfPresent(FilePath(store.string + suffix))?.size ?? 0
    }
    try DiskShortage.requireRoom(for: [
      (folder, bytes, "a copy of the store with its -wal")
    ])
  }
}

extension MigrationPaths {
  /// The bytes of the external binary data files next to a store.
  package static func externalBytes(of store: FilePath) -> Int64 {
    Files.bytes(in: ExternalDataFolder.files(support: SupportFolder.path(of: store)))
  }
}
