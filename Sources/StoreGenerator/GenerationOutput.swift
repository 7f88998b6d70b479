import Foundation
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// The files of a store that is being generated, which get their final names when all are complete.
struct GenerationOutput {
  /// Such as `/data/Shop.sqlite`.
  let store: FilePath
  /// Such as `/data/.Shop_SUPPORT`.
  let support: FilePath
  /// The temporary path of the store, and below that of its external files.
  let partialStore: FilePath
  let partialSupport: FilePath

  /// Takes a path that is free, in a folder that exists.
  init(_ store: FilePath) throws(GenerationError) {
    guard store.lastComponent != nil else {
      throw GenerationError(.folderMissing, at: store)
    }
    let most = 255 - "\(StoreCompanion.partial.rawValue)\(UUID().uuidString)-journal".utf8.count
    guard (store.lastComponent?.string.utf8.count ?? 0) <= most else {
      throw GenerationError(.nameTooLong(most: most), at: store)
    }
    let folder = Files.parent(of: store)
    self.store = store
    support = SupportFolder.path(of: store)
    // A new UUID makes the temporary names free.
    let id = UUID().uuidString
    partialStore = FilePath("\(StoreCompanion.partial.path(of: store))\(id)")
    partialSupport = FilePath("\(StoreCompanion.partial.path(of: support))\(id)")
    do {
      guard try Files.fileStatusIfPresent(folder)?.isDirectory == true else {
        throw GenerationError(.folderMissing, at: folder)
      }
      // Files next to a store belong to it: a new one must not inherit a journal or files.
      let beside = StoreFile.logSuffixes.map { FilePath("\(store.string)\($0)") }
      for path in [store, support] + beside
      where try Files.fileStatusIfPresent(path, followLinks: false) != nil {
        throw GenerationError(.outputExists, at: path)
      }
    } catch let error as GenerationError {
      throw error
    } catch {
      throw GenerationError(.writeFailed, at: folder, cause: error)
    }
  }

  /// Renames the files, external ones first: a store must never refer to missing files.
  func publish(_ files: GeneratedFiles) throws(GenerationError) {
    var isSupportNamed = false
    do throws(SystemCallError) {
      try Files.syncFile(partialStore)
      try files.synchronize()
      if files.count > 0 {
        try Files.renameNoReplace(partialSupport, to: support)
        isSupportNamed = true
      }
      try Files.renameNoReplace(partialStore, to: store)
    } catch {
      // Report the first failure.
      if isSupportNamed { try? ExternalDataFolder.remove(support: support) }
      let taken = isSupportNamed || files.count == 0 ? store : support
      throw GenerationError(
        error.errno == .fileExists ? .outputExists : .writeFailed, at: taken, cause: error)
    }
    do throws(SystemCallError) {
      try Files.syncDirectory(Files.parent(of: store))
    } catch {
      _ = try? Files.removeRegularFile(store)
      if isSupportNamed { try? ExternalDataFolder.remove(support: support) }
      throw GenerationError(.writeFailed, at: store, cause: error)
    }
  }

  /// Removes what was written; what cannot be removed remains under its temporary name.
  func discard() {
    for suffix in StoreFile.suffixes {
      _ = try? Files.remove(FilePath("\(partialStore.string)\(suffix)"))
    }
    try? ExternalDataFolder.remove(support: partialSupport)
  }
}
