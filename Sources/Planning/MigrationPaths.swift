import Schema
import StoreNames
package import SystemPackage

/// Every path of a migration, here for the destination `/data/Shop.sqlite`.
package struct MigrationPaths: Hashable, Sendable {
  /// The store that is made: `/data/Shop.sqlite`.
  package let destination: FilePath
  /// `/data/Shop.sqlite.godwit`, or `/fast/Shop.sqlite.godwit-1f2e3d4c` in a requested folder.
  package let work: FilePath

  /// `…godwit/result.sqlite`, the store while it is being assembled; next to the destination if the
  /// work folder is on another file system, since renames cannot cross file systems.
  package var result: FilePath

  /// The paths of a migration that works in a folder of its own, next to the destination or in
  /// `parent`: never in `parent` itself, which may hold anything.
  package init(destination: FilePath, below parent: FilePath? = nil) {
    guard let parent else {
      self.init(destination: destination, work: StoreCompanion.work.path(of: destination))
      return
    }
    // Destinations of one name in different folders may share the parent.
    let name = destination.lastComponent?.string ?? ""
    self.init(
      destination: destination,
      work: parent.appending(
        "\(name)\(StoreCompanion.work.rawValue)-\(Self.fingerprint(text: destination.string))"))
  }

  /// The paths of a migration that works in this very folder.
  package init(destination: FilePath, work: FilePath) {
    self.destination = destination
    self.work = work
    result = WorkFile.result.path(in: work)
  }

  /// Eight hexadecimal digits by which texts differ, for the most part (FNV-1a).
  private static func fingerprint(text: String) -> String {
    let hash = text.utf8.reduce(0x811c_9dc5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// `/data/Shop.sqlite.godwit-result-ID`, where a result goes that cannot be renamed from the work
  /// folder with that identifier.
  package func resultBesideDestination(_ id: String) -> FilePath {
    FilePath("\(StoreCompanion.result.path(of: destination))\(id)")
  }

  /// `…godwit/godwit.json`, which states that Godwit made the folder, and for what.
  package var mark: FilePath { WorkFile.mark.path(in: work) }
  /// `…godwit/godwit.lock`, held by the one migration of this destination.
  package var lock: FilePath { WorkFile.lock.path(in: work) }
  /// `…godwit/plan.json`, the plan.
  package var plan: FilePath { WorkFile.plan.path(in: work) }
  /// `…godwit/run.json`, what the run was made for.
  package var run: FilePath { WorkFile.run.path(in: work) }
  /// `…godwit/status.mdb`, the status file.
  package var status: FilePath { WorkFile.status.path(in: work) }
  /// `…godwit/status.mdb-lock`, which belongs to the status file as long as anybody has it open.
  package var statusLock: FilePath { WorkFile.statusLock.path(in: work) }
  /// `…godwit/source.sqlite`, a copy of a source with repaired defects, or with a journal.
  package var sourceCopy: FilePath { WorkFile.source.path(in: work) }
  /// `…godwit/source.pages`, the pages of a source's `-wal`.
  package var walPages: FilePath { WorkFile.walPages.path(in: work) }
  /// `…godwit/salvaged.sqlite`, what could be read of a damaged source.
  package var salvaged: FilePath { WorkFile.salvaged.path(in: work) }
  /// `…godwit/dropped.sqlite`, the keys of rows that filters leave behind.
  package var untakenRows: FilePath { WorkFile.untakenRows.path(in: work) }
  /// The file that is read instead of the source, if there is one.
  package var copiesOfSource: Set<FilePath> { [sourceCopy, walPages, salvaged] }
  /// The files that stay in the folder during a run, whatever becomes of earlier work in it.
  package var filesOfRun: Set<FilePath> { copiesOfSource.union([status, statusLock]) }
  /// `…godwit/shard-7.2.sqlite`, made by the second attempt at work order 7.
  package func shard(order: Int, attempt: Int) -> FilePath {
    WorkFile.shard.path(in: work, order, attempt)
  }
  /// `…godwit/shard-7.json`, which declares work order 7 done.
  package func manifest(_ order: Int) -> FilePath { WorkFile.manifest.path(in: work, order) }
  /// `…godwit/swap.json`, while the result takes the store's place.
  package var swapJournal: FilePath { WorkFile.swapJournal.path(in: work) }
  /// `…godwit/stage-3.sqlite`, the store that the third stage of a migration makes, with a work
  /// folder of its own next to it.
  package func stage(number: Int) -> MigrationPaths {
    MigrationPaths(
      destination: WorkFile.stageStore.path(in: work, number),
      work: WorkFile.stageFolder.path(in: work, number))
  }
  /// `…godwit/stage-3.json`, which declares the third stage done.
  package func stageMarker(_ number: Int) -> FilePath {
    WorkFile.stageMarker.path(in: work, number)
  }
}
