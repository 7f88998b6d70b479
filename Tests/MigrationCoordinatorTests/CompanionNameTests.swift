import Foundation
import MigrationStatus
import Planning
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Every name that is made from a store's name is known as such.
@Suite(.scratchFolder) struct CompanionNameTests {
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("Shop.sqlite") }

  private func isFree(_ path: FilePath, besides stores: [FilePath] = []) throws -> Bool {
    do {
      try CompanionName.requireFree(path, besides: stores)
      return true
    } catch let error as StoreError {
      guard case .companionName = error.problem else { throw error }
      return false
    }
  }

  private var names: [FilePath] {
    get throws {
      let paths = MigrationPaths(destination: store)
      let kept = try KeptStores(of: store).freeName(.before)
      return [
        paths.work, paths.mark, paths.result, SupportFolder.path(of: store),
        paths.resultBesideDestination(UUID().uuidString), OutcomeFile(beside: store).path,
        KeptStores(of: store).path, Files.temporary(for: KeptStores(of: store).path),
        FilePath("\(OutcomeFile(beside: store).path).1f2e3d4c.tmp"), kept, FilePath("\(kept).2"),
        try KeptStores(of: store).freeName(.after), try KeptStores(of: store).freeUndoName(),
        StoreCompanion.new.path(of: store),
        Files.temporary(for: StoreCompanion.new.path(of: store)),
        FilePath("\(store).partial-\(UUID().uuidString)"),
      ]
    }
  }

  @Test func `names beside a store that exists are not free`() throws {
    try Files.writeFileAtomically(StoreHeader.magic, to: store)
    for name in try names { #expect(try !isFree(name), "\(name)") }
    #expect(try isFree(store))
    #expect(try isFree(folder.appending("Shop.sqlite-copy")))
  }

  @Test func `names beside a store that is to be made are not free`() throws {
    for name in try names { #expect(try !isFree(name, besides: [store]), "\(name)") }
  }

  @Test func `names beside other files are free`() throws {
    try Files.writeFileAtomically(Array("notes".utf8), to: store)
    for name in try names { #expect(try isFree(name), "\(name)") }
  }
}
