import MigrationCoordinator
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
public import SystemPackage

/// The stores among files and in folders, found without writing anything.
///
/// In folders, and in folders within them, files are stores that begin as SQLite databases do and
/// have Core Data's tables. No link is followed there, and nothing but regular files is opened.
/// Skipped files are in ``passedOver``. A file that should be a store but is none, or cannot be
/// read, is in ``entries``, as is a folder without a store.
public struct StoreSearch: Sendable {
  /// A store, or a place where none can be read.
  public struct Entry: Hashable, Sendable {
    /// The path of the store, or of the place.
    public let path: FilePath
    /// Why there is no store to read, nil for a store; not for one that is merely damaged.
    public let failure: MigrationFailure?

    /// Compares by path.
    public static func == (one: Entry, other: Entry) -> Bool { one.path == other.path }

    /// Hashes the path.
    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
  }

  /// Something in a folder that is not checked.
  public struct PassedOver: Hashable, Sendable {
    /// Why it is not.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
      /// A file that is neither an SQLite database nor named like a store.
      case noStore
      /// An SQLite database without Core Data's tables.
      case otherDatabase
      /// A log or a journal without its store.
      case looseLog
      /// A symbolic link.
      case link
      /// A pipe, a socket or a device, which is not opened.
      case special
      /// A file or a folder whose name begins with a dot.
      case hidden
      /// What a migration by Godwit made for itself.
      case workFile
      /// An old store, or an undo file, that Godwit keeps next to a store.
      case keptStore
      /// The folder of a model with its versions, or of a mapping model.
      case model
    }

    /// The path.
    public let path: FilePath
    /// Why it is not checked.
    public let reason: Reason
  }

  /// The stores, and the places where there should be one, none of them twice.
  ///
  /// They come in the order in which they were named, those in folders by name.
  public private(set) var entries: [Entry] = []
  /// What lies in the folders besides.
  public private(set) var passedOver: [PassedOver] = []

  /// Folders within folders, so that links of other kinds lead to no endless search.
  private static let maximumDepth = 16
  /// The most entries of a place, so that the root of a file system is no answer for hours.
  private let mostMembers: Int

  /// The stores and folders that were met, by their paths without links.
  private var seen: Set<FilePath> = []
  /// Entries of the place at hand.
  private var members = 0
  /// Things that were passed over.
  private var passedCount = 0
  /// Stores and places that were already reported.
  private var met = 0
  private var kept = KeptTally()

  /// The old stores that Godwit keeps and a search passes over: their number, and the first.
  struct KeptTally {
    private(set) var count = 0
    private(set) var first: FilePath?

    /// None.
    init() {}

    /// One.
    init(_ path: FilePath) { (count, first) = (1, path) }

    mutating func add(_ others: KeptTally) {
      (count, first) = (count + others.count, first ?? others.first)
    }
  }

  /// Is called with each entry instead of keeping it, where memory must not grow with the stores.
  private typealias Delivery = (Entry) throws -> Void

  /// Calls `body` with the entries below a folder, which are neither kept nor compared: a file with
  /// two names is met twice.
  ///
  /// - Returns: the kept old stores that were passed over.
  /// - Throws: what `body` throws.
  static func forEach(
    below folder: FilePath, body: (Entry) throws -> Void
  ) throws -> KeptTally {
    try withoutActuallyEscaping(body) { body in
      var search = StoreSearch([], mostMembers: .max)
      do {
        try search.take(folder: folder, to: body)
      } catch let error as Undelivered {
        throw error.cause
      } catch {
        try body(Entry(path: folder, failure: MigrationFailure(error)))
      }
      return search.kept
    }
  }

  /// An error of the receiver of entries.
  private struct Undelivered: Error { let cause: any Error }

  private mutating func keep(_ entry: Entry, to deliver: Delivery?) throws {
    guard let deliver else {
      entries.append(entry)
      return
    }
    do { try deliver(entry) } catch { throw Undelivered(cause: error) }
  }

  private mutating func pass(
    over path: FilePath, _ reason: PassedOver.Reason, to deliver: Delivery?
  ) {
    passedCount += 1
    if reason == .keptStore { kept.add(KeptTally(path)) }
    if deliver == nil { passedOver.append(PassedOver(path: path, reason: reason)) }
  }

  /// Searches files and folders; a path that was named itself may be a link.
  public init(_ places: [FilePath]) { self.init(places, mostMembers: 50_000) }

  init(_ places: [FilePath], mostMembers: Int) {
    self.mostMembers = mostMembers
    for place in places {
      do {
        if try Files.fileStatusIfPresent(place)?.isDirectory == true {
          try take(folder: place, to: nil)
        } else if isNew(place) {
          // The check reports what it is instead of a store.
          entries.append(Entry(path: place, failure: nil))
        }
      } catch {
        met += 1
        entries.append(Entry(path: place, failure: MigrationFailure(error)))
      }
    }
  }

  private mutating func take(folder: FilePath, to deliver: Delivery?) throws {
    let (before, over) = (met, passedCount)
    members = 0
    try walk(folder, depth: 0, to: deliver)
    guard members <= mostMembers else {
      throw MigrationFailure(
        .usage,
        "\(folder) has more than \(mostMembers) files and folders in it, and some were not "
          + "searched: name folders with fewer.")
    }
    guard met == before else { return }
    let count = CountText(passedCount - over, "entry was", "entries were")
    try fail(
      folder,
      MigrationFailure(
        .notFound, "\(folder) has no store in it (\(count) skipped): name another folder."),
      to: deliver)
  }

  private mutating func walk(_ folder: FilePath, depth: Int, to deliver: Delivery?) throws {
    guard depth <= Self.maximumDepth else {
      throw MigrationFailure(
        .usage, "\(folder) is nested deeper than \(Self.maximumDepth) folders: name it directly.")
    }
    guard isNew(folder) else {
      met += 1
      return
    }
    let names = try Files.listDirectory(folder)
    members += names.count
    let beside = Set(names.map(\.string))
    for name in names where members <= mostMembers {
      let path = folder.appending(name)
      do {
        let status = try Files.fileStatus(path, followLinks: false)
        switch status.kind {
        case .symbolicLink: pass(over: path, .link, to: deliver)
        case .other: pass(over: path, .special, to: deliver)
        case .directory, .file:
          let isFolder = status.isDirectory
          try take(
            FolderMember(name: name.string, isFolder: isFolder, beside: beside), at: path,
            depth: depth, to: deliver)
        }
      } catch let error as Undelivered {
        throw error
      } catch {
        try fail(path, error, to: deliver)
      }
    }
  }

  private mutating func take(
    _ member: FolderMember, at path: FilePath, depth: Int, to deliver: Delivery?
  ) throws {
    switch member {
    case .part: break
    case .passedOver(let reason): pass(over: path, reason, to: deliver)
    case .folder: try walk(path, depth: depth + 1, to: deliver)
    case .file(let isNamedLikeStore, let hasLog):
      try take(
        try Self.kind(of: path, isNamed: isNamedLikeStore, hasLog: hasLog), at: path, to: deliver)
    }
  }

  private mutating func take(
    _ reason: PassedOver.Reason?, at path: FilePath, to deliver: Delivery?
  ) throws {
    if let reason {
      pass(over: path, reason, to: deliver)
    } else {
      met += 1
      if deliver != nil || isNew(path) {
        try keep(Entry(path: path, failure: nil), to: deliver)
      }
    }
  }

  /// Why a regular file is passed over, nil for a store and for what is meant to be one.
  private static func kind(
    of path: FilePath, isNamed: Bool, hasLog: Bool
  ) throws -> PassedOver.Reason? {
    let magic = StoreHeader.magic
    guard try Files.readHead(path, count: magic.count) == magic else {
      // A main file may be empty as long as all of it lies in its log.
      return isNamed || hasLog ? nil : .noStore
    }
    // Of a damaged one it is unknown; the check then reports the error.
    let access = try? SourceAccess.open(path)
    defer { access?.release() }
    let isOther = access.map { try? StoreReader.isOtherDatabase($0.readable) } ?? nil
    return isOther == true ? .otherDatabase : nil
  }

  private mutating func fail(
    _ path: FilePath, _ error: any Error, to deliver: Delivery?
  ) throws {
    met += 1
    try keep(Entry(path: path, failure: MigrationFailure(error)), to: deliver)
  }

  private mutating func isNew(_ path: FilePath) -> Bool {
    seen.insert((try? Files.resolved(path)) ?? path.lexicallyNormalized()).inserted
  }
}

/// How to treat a file or folder in a folder, by its name.
enum FolderMember: Hashable {
  /// It belongs to a store next to it.
  case part
  case passedOver(StoreSearch.PassedOver.Reason)
  case folder
  /// The first bytes show the kind of a regular file; with a `-wal` next to it, they may be
  /// missing.
  case file(isNamedLikeStore: Bool, hasLog: Bool)

  private static let extensions: Set<String> = [
    "sqlite", "sqlite3", "sqlitedb", "store", "storedata",
  ]
  private static let modelExtensions: Set<String> = [
    "xcdatamodeld", "xcdatamodel", "momd", "xcmappingmodel",
  ]

  /// Decides by a name and the other names in the folder.
  init(name: String, isFolder: Bool, beside: Set<String>) {
    if Self.isExternalData(name) {
      self = .part
    } else if name.hasPrefix(".") {
      self = .passedOver(.hidden)
    } else if Self.isOfMigration(name) {
      self = .passedOver(.workFile)
    } else if !isFolder, KeptName.isKept(name, beside: beside) {
      self = .passedOver(.keptStore)
    } else if isFolder {
      self = Self.isModel(name) ? .passedOver(.model) : .folder
    } else if let log = StoreFile.logSuffixes.first(where: name.hasSuffix) {
      self = beside.contains(String(name.dropLast(log.count))) ? .part : .passedOver(.looseLog)
    } else {
      let ending = FilePath(name).extension?.lowercased() ?? ""
      self = .file(
        isNamedLikeStore: Self.extensions.contains(ending), hasLog: beside.contains(name + "-wal"))
    }
  }

  /// `.Shop_SUPPORT`, where the external data of `Shop.sqlite` lie.
  private static func isExternalData(_ name: String) -> Bool {
    SupportFolder.stem(of: name) != nil
  }

  /// `Shop.xcdatamodeld` and the other folders in which models and mapping models are kept.
  private static func isModel(_ name: String) -> Bool {
    FilePath(name).extension.map { modelExtensions.contains($0.lowercased()) } ?? false
  }

  /// `Shop.sqlite.godwit`, `Shop.sqlite.godwit-1f2e3d4c` and the like.
  static func isOfMigration(_ name: String) -> Bool {
    name.hasSuffix(StoreCompanion.work.rawValue) || StoreCompanion.isRequestedWork(name)
  }
}
