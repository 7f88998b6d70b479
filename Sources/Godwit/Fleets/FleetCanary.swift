import Fleets
import ObjectModel
import StoreFormat
import SystemPackage

/// The stores of a canary: a sample of a fleet over all versions and sizes.
struct FleetCanary {
  /// The numbers of the stores.
  let numbers: Set<Int>

  /// The most stores whose version is read; of a larger fleet, evenly many over all sizes.
  private static let mostRead = 100_000

  /// Chooses stores: in turn of each version, from the largest to the smallest of it.
  init(
    of count: Int, in folder: FleetFolder, element: FleetElement?, past: FleetPast
  ) throws {
    var list = try FleetListReader(folder, element: element)
    var waiting = 0
    while let next = try list.next() { waiting += past.isDone(next.number) ? 0 : 1 }
    let stride = max(1, waiting / Self.mostRead)
    var versions: [String: [Int]] = [:]
    list = try FleetListReader(folder, element: element)
    var place = 0
    while let next = try list.next() {
      guard FleetSelection.waiting.takes(next.number, past: past) else { continue }
      defer { place += 1 }
      guard place.isMultiple(of: stride) else { continue }
      versions[Self.version(of: FilePath(next.store.store)), default: []].append(next.number)
    }
    numbers = CanarySample.numbers(
      count, from: versions.sorted { $0.key < $1.key }.map(\.value))
  }

  /// The version of a store, by its hashes; one name for all that cannot be read.
  private static func version(of store: FilePath) -> String {
    // A store that is damaged is found so by its migration.
    (try? StoreReader(immutable: store).metadata().versionHashes.checksum) ?? "unreadable"
  }
}
