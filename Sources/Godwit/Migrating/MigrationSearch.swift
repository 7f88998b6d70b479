import StoreNames
import SystemCalls
public import SystemPackage

/// The running and known migrations and fleets in folders, found without writing.
///
/// A migration is found by its work folder or the record next to its store. Subfolders are
/// searched, but neither links nor folders whose names begin with a dot.
///
/// ```swift
/// for path in MigrationSearch(["/data"]).paths {
///   let status = try await MigrationMonitor(path).status()
/// }
/// ```
public struct MigrationSearch: Sendable {
  /// The paths by which monitors know the migrations, sorted: of stores, or of work folders that
  /// were named with `--work`.
  ///
  /// One migration may have several: the store that it reads, and the one that it makes.
  public let paths: [FilePath]
  /// The folders of fleets, sorted.
  public let fleets: [FilePath]
  /// What was not searched, a sentence for each.
  public let gaps: [String]

  /// Folders within folders, so that links of other kinds lead to no endless search.
  static let maximumDepth = 16
  /// The entries of all folders together, so that the root of a file system takes no hours.
  static let maximumMembers = 50_000
  /// The most paths.
  static let maximumPaths = 500
  /// The most fleets.
  static let maximumFleets = 100

  /// Looks through folders; what was named itself may be a link.
  public init(_ folders: [FilePath]) {
    var search = Walk()
    for folder in folders { search.walk((try? Files.resolved(folder)) ?? folder, depth: 0) }
    paths = search.found.sorted { $0.string < $1.string }
    fleets = search.fleets.sorted { $0.string < $1.string }
    gaps = search.gaps
  }

  private struct Walk {
    var found: Set<FilePath> = []
    var fleets: [FilePath] = []
    var gaps: [String] = []
    private var seen: Set<FilePath> = []
    private var members = 0
    private var isFull = false

    mutating func walk(_ folder: FilePath, depth: Int) {
      guard !isFull, seen.insert(folder).inserted else { return }
      guard depth <= MigrationSearch.maximumDepth else {
        miss("\(folder) is nested too deeply: name it directly.")
        return
      }
      do {
        let names = try Files.listDirectory(folder)
        for name in names {
          guard !isFull else { return }
          members += 1
          guard members <= MigrationSearch.maximumMembers else {
            isFull = true
            miss("more than \(MigrationSearch.maximumMembers) files: name folders with fewer.")
            return
          }
          try take(folder.appending(name), depth: depth)
        }
      } catch {
        for sentence in MigrationFailure(error).sentences { miss(sentence) }
      }
    }

    private mutating func take(_ path: FilePath, depth: Int) throws {
      // Between the names and this look a file may go.
      guard let kind = try Files.fileStatusIfPresent(path, followLinks: false)?.kind else { return }
      switch MigrationTrace(path, isFolder: kind == .directory) {
      case .migration(let store) where kind == .directory || kind == .file: add(store)
      case .folder where kind == .directory: walk(path, depth: depth + 1)
      case .fleet(let folder) where kind == .file: add(fleet: folder)
      default: break
      }
    }

    private mutating func add(_ path: FilePath) {
      guard found.contains(path) || found.count < MigrationSearch.maximumPaths else {
        isFull = true
        miss("more than \(MigrationSearch.maximumPaths) migrations: name folders with fewer.")
        return
      }
      found.insert(path)
    }

    private mutating func add(fleet path: FilePath) {
      guard fleets.count < MigrationSearch.maximumFleets else {
        return miss(
          "more than \(MigrationSearch.maximumFleets) fleets: name folders with fewer.")
      }
      fleets.append(path)
    }

    private mutating func miss(_ sentence: String) {
      if gaps.count < 20 { gaps.append(sentence) }
    }
  }
}

/// The meaning of a file or folder for migrations, by its name.
enum MigrationTrace: Hashable {
  /// It belongs to a migration, which has this path.
  case migration(FilePath)
  /// It is the manifest of a fleet in this folder.
  case fleet(FilePath)
  /// There may be some in it.
  case folder
  case nothing

  private static let fleet = "fleet.json"

  init(_ path: FilePath, isFolder: Bool) {
    let name = path.lastComponent?.string ?? ""
    if !isFolder, name == Self.fleet {
      self = .fleet(path.removingLastComponent())
    } else if !isFolder {
      self = StoreCompanion.record.store(of: path).map { .migration($0) } ?? .nothing
    } else if let store = StoreCompanion.work.store(of: path) {
      self = .migration(store)
    } else if StoreCompanion.isRequestedWork(name) {
      // The name of the store is not that of the folder: --work has made it.
      self = .migration(path)
    } else {
      self = name.hasPrefix(".") ? .nothing : .folder
    }
  }
}
