package import SystemPackage

/// Every path of a migration, here for the destination `/data/Shop.sqlite`.
package struct MigrationPaths: Hashable, Sendable {
  /// `/data/Shop.sqlite`
  package let destination: FilePath
  /// `/data/Shop.sqlite.godwit`, unless another folder was asked for.
  package let work: FilePath

  package init(destination: FilePath, work: FilePath? = nil) {
    self.destination = destination
    self.work = work ?? FilePath("\(destination).godwit")
  }

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
  /// `…godwit/result.sqlite`, the store while it is being assembled.
  package var result: FilePath { work.appending("result.sqlite") }

  /// The folder with the external binary files of a store: `/data/.Shop_SUPPORT`.
  package static func support(of store: FilePath) -> FilePath {
    let stem = store.lastComponent?.stem ?? ""
    return store.removingLastComponent().appending(".\(stem)_SUPPORT")
  }
}
