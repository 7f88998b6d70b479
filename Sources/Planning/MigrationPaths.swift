package import SystemPackage

/// Every path of a migration, here for the destination `/data/Shop.sqlite`.
package struct MigrationPaths: Hashable, Sendable {
  /// `/data/Shop.sqlite`
  package let destination: FilePath
  /// `/data/Shop.sqlite.godwit`, unless another folder was asked for.
  package let work: FilePath

  /// `…godwit/result.sqlite`, the store while it is being assembled; beside the destination where
  /// the work folder lies on another file system, from which nothing can be renamed.
  package var result: FilePath

  package init(destination: FilePath, work: FilePath? = nil) {
    self.destination = destination
    self.work = work ?? FilePath("\(destination).godwit")
    result = self.work.appending("result.sqlite")
  }

  /// `/data/Shop.sqlite.godwit-result`, where a result goes that cannot be renamed.
  package var resultBesideDestination: FilePath { FilePath("\(destination).godwit-result") }

  /// `…godwit/lock`, held by the one migration of this destination.
  package var lock: FilePath { work.appending("lock") }
  /// `…godwit/plan.json`
  package var plan: FilePath { work.appending("plan.json") }
  /// `…godwit/status.mdb`
  package var status: FilePath { work.appending("status.mdb") }
  /// `…godwit/status.mdb-lock`, which belongs to the status file as long as anybody has it open.
  package var statusLock: FilePath { work.appending("status.mdb-lock") }
  /// `…godwit/source.sqlite`, a copy of a source whose latest changes are still in its `-wal`.
  package var snapshot: FilePath { work.appending("source.sqlite") }
  /// `…godwit/shard-7.2.sqlite`, made by the second attempt at work order 7.
  package func shard(_ order: Int, attempt: Int) -> FilePath {
    work.appending("shard-\(order).\(attempt).sqlite")
  }
  /// `…godwit/shard-7.json`, which declares work order 7 done.
  package func manifest(_ order: Int) -> FilePath { work.appending("shard-\(order).json") }
  /// `…godwit/swap.json`, while the result takes the store's place.
  package var swapJournal: FilePath { work.appending("swap.json") }
  /// `…godwit/step-3.sqlite`, the store that the third leg of a migration makes, with a work folder
  /// of its own beside it.
  package func leg(_ number: Int) -> MigrationPaths {
    MigrationPaths(
      destination: work.appending("step-\(number).sqlite"),
      work: work.appending("step-\(number).godwit"))
  }
  /// `…godwit/step-3.json`, which declares the third leg done.
  package func legMarker(_ number: Int) -> FilePath { work.appending("step-\(number).json") }
  /// The folder with the external binary files of a store: `/data/.Shop_SUPPORT`.
  package static func support(of store: FilePath) -> FilePath {
    let stem = store.lastComponent?.stem ?? ""
    return store.removingLastComponent().appending(".\(stem)_SUPPORT")
  }
}
