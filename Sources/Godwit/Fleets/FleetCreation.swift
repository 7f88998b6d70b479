import Fleets
import Foundation
import StoreFormat
import SystemCalls
public import SystemPackage

extension StoreFleet {
  /// A store of a fleet that is created.
  public struct Member: Sendable {
    /// The path of the store.
    public var store: FilePath
    /// The path of the new store, nil to replace the old one.
    public var output: FilePath?
    var options: FleetSettings?

    /// Names a store.
    public init(store: FilePath, output: FilePath? = nil) {
      self.store = store
      self.output = output
    }

    private struct Line: Decodable {
      var store: String
      var output: String?
      var options: FleetSettings?
    }

    /// Reads a line of JSON such as `{"store":"7.sqlite","options":{"allowLoss":["Book.isbn"]}}`.
    ///
    /// - Throws: `MigrationFailure` with the number of the line.
    public init(line: some Collection<UInt8>, number: Int) throws {
      do {
        let read = try JSONDecoder().decode(Line.self, from: Data(line))
        let fields = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:]
        let options = (fields["options"] as? [String: Any])?.keys.sorted() ?? []
        let unknown =
          fields.keys.sorted().filter { !["store", "output", "options"].contains($0) }
          + options.filter { !FleetSettings.names.contains($0) }
        if let name = unknown.first {
          throw MigrationFailure(
            .usage, "line \(number) has \(name), which is no option of a fleet.")
        }
        if read.store.isEmpty { throw CocoaError(.coderInvalidValue) }
        self.init(store: FilePath(read.store), output: read.output.map { FilePath($0) })
        self.options = read.options
      } catch let failure as MigrationFailure {
        throw failure
      } catch {
        throw MigrationFailure(
          .usage,
          "line \(number) is no store: a line looks like {\"store\":\"7.sqlite\"}, with \"output\" "
            + "and \"options\" if need be.")
      }
    }
  }

  /// The stores of a fleet that is created, and what was passed over.
  public struct Members: Sendable {
    /// The stores, none of them twice.
    public private(set) var all: [Member] = []
    /// The number of paths that name a store that is there already.
    public private(set) var repeated = 0
    /// The places without a store, with the reason of each.
    public private(set) var failures: [MigrationFailure] = []
    private var paths: Set<String> = []
    private var files: Set<FileStatus.Identity> = []
    private let outputFolder: FilePath?

    /// Starts without stores.
    ///
    /// - Parameter outputFolder: gets the new stores, nil to replace the old ones.
    public init(outputFolder: FilePath? = nil) { self.outputFolder = outputFolder?.absolute }

    /// Adds stores: a file, all stores below a folder, or all matches of a pattern.
    public mutating func add(_ place: FilePath) throws {
      if try isFolder(place) { return add(folder: place) }
      let isThere = try MigrationFailure.catching { try Files.fileStatusIfPresent(place) } != nil
      if isThere { return add(Member(store: place), below: nil) }
      let matches = Files.matching(place)
      if matches.isEmpty {
        failures.append(
          MigrationFailure(
            .notFound, "\(place) is not there, and matches nothing: it is left out."))
      }
      for match in matches {
        if try isFolder(match) { add(folder: match) } else { add(Member(store: match), below: nil) }
      }
    }

    /// Adds the stores that standard input has, one in JSON on each line.
    ///
    /// - Throws: `MigrationFailure` with the number of a line that is no store.
    public mutating func addLinesOfStandardInput() throws {
      let lines = LineReader(open: .standardInput)
      var number = 0
      while let line = try MigrationFailure.catching({ try lines.next()?.bytes }) {
        number += 1
        guard line.contains(where: { $0 > UInt8(ascii: " ") }) else { continue }
        add(try Member(line: line, number: number))
      }
    }

    private func isFolder(_ place: FilePath) throws -> Bool {
      try MigrationFailure.catching { try Files.fileStatusIfPresent(place)?.isDirectory == true }
    }

    private mutating func add(folder: FilePath) {
      for entry in StoreSearch([folder], mostMembers: .max).entries {
        if let failure = entry.failure {
          failures.append(failure)
        } else {
          add(Member(store: entry.path), below: folder)
        }
      }
    }

    /// Adds a store.
    public mutating func add(_ member: Member) { add(member, below: nil) }

    private mutating func add(_ member: Member, below folder: FilePath?) {
      var member = member
      guard FilePath(member.store.string) == member.store else {
        failures.append(
          MigrationFailure(
            .usage, "\(member.store) has a name that is no UTF-8, and is left out: rename it."))
        return
      }
      member.store = member.store.absolute
      let status = try? Files.fileStatusIfPresent(member.store)
      let isNew = paths.insert(member.store.string).inserted
      guard isNew, status.map({ files.insert($0.identity).inserted }) ?? true else {
        repeated += 1
        return
      }
      member.output = member.output?.absolute ?? output(for: member.store, below: folder)
      all.append(member)
    }

    private func output(for store: FilePath, below folder: FilePath?) -> FilePath? {
      guard let outputFolder else { return nil }
      var inner = store
      if let folder = folder?.absolute, inner.removePrefix(folder), !inner.isEmpty {
        return outputFolder.pushing(inner)
      }
      return outputFolder.appending(store.lastComponent?.string ?? "")
    }

    /// Checks that no two stores have one output.
    func requireOutputsApart() throws {
      var outputs: [String: FilePath] = [:]
      for member in all {
        guard let output = member.output else { continue }
        if let other = outputs.updateValue(member.store, forKey: output.string) {
          throw MigrationFailure(
            .usage,
            "\(member.store) and \(other) would both become \(output): name outputs of their own, on "
              + "standard input.")
        }
      }
    }
  }

  /// Creates a fleet: a folder with the list of stores and the options of a migration.
  ///
  /// - Parameters:
  ///   - path: the folder, which is made.
  ///   - members: the stores.
  ///   - migration: the options of all migrations, of whatever store.
  /// - Throws: `MigrationFailure`, if there is a fleet already, the model cannot be read, or there
  ///   are no stores.
  public static func create(
    at path: FilePath, of members: Members, by migration: StoreMigration
  ) throws -> StoreFleet {
    guard !members.all.isEmpty else {
      throw MigrationFailure(
        .notFound,
        members.failures.flatMap(\.sentences) + ["\(path): there is no store to migrate."])
    }
    try members.requireOutputsApart()
    _ = try MigrationTarget(migration.target, configuration: migration.configuration)
    let settings = migration.fleetSettings
    for member in members.all where member.options != nil {
      let own = try member.options.map { try settings.overridden(by: $0) }
      if let own { _ = try StoreMigration(store: member.store, by: own) }
    }
    let stores = members.all.map { member in
      FleetStore(
        store: member.store.string, output: member.output?.string,
        bytes: bytes(of: member.store), options: member.options)
    }
    try MigrationFailure.catching {
      _ = try FleetFolder(path.absolute).create(
        stores, settings: settings, at: Double(WallClock.now()) / 1e9)
    }
    return try StoreFleet(path)
  }

  /// The size of a store with its log; 0 if it is not there, which its migration reports.
  private static func bytes(of store: FilePath) -> Int64 {
    ["", "-wal"].reduce(0) { sum, suffix in
      sum + ((try? Files.fileStatusIfPresent(FilePath("\(store)\(suffix)"))?.size) ?? 0)
    }
  }
}
