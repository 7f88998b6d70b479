import MigrationEngine
import Planning
import RowPrograms
import StoreFormat
import SystemCalls
import SystemPackage

/// What rows look up in a file that the coordinator makes before the first worker starts.
package struct LookUpLists: Hashable, Codable, Sendable {
  /// Where the places of rows come from that had none.
  enum Places: Hashable, Codable, Sendable {
    /// Pairs come in the order of their owners, and are counted as they come.
    case inOrder
    /// By the key of the row.
    case byKey([Section])
    /// By the number of the pair among all, with the count of pairs before each piece.
    case byNumber([Section], before: [Int: Int64])
  }

  /// The keys of rows that lead to others, by the operation that needs them.
  struct Owners: Hashable, Codable, Sendable {
    var operation: ColumnOperation
    var runs: [Section]
  }

  /// The places of order fills, by the name of the table that SQLite makes of any other.
  var places: [String: Places] = [:]
  /// The entities of rows, by the table of the source.
  var entities: [String: EntityMap] = [:]
  /// The lowest keys of the rows that lead to others.
  var owners: [Owners] = []
  /// Whether SQLite has made a table of places.
  var hasTables = false

  /// Whether there is nothing to look up.
  var isEmpty: Bool { places.isEmpty && entities.isEmpty && owners.isEmpty }
}

/// Looks up in the file of the lists, for the rows of one worker.
final class LookUps {
  let lists: LookUpLists
  private let file: FileDescriptor?
  private let bytes: Int
  private var readers: [String: EntityReader] = [:]

  /// Takes the bytes that each list may have in memory.
  init(_ lists: LookUpLists, at path: FilePath?, bytes: Int) throws {
    self.lists = lists
    self.bytes = bytes
    file = try path.map { try Files.open($0, mode: .readOnly) }
  }

  deinit {
    try? file?.close()  // it was only read
  }

  /// The entities of a table's rows; nil where SQLite has to look them up.
  func entities(of table: String) -> EntityReader? {
    if let known = readers[table] { return known }
    guard let map = lists.entities[table], let file else { return nil }
    let made = EntityReader(map, in: file, bytes: bytes)
    readers[table] = made
    return made
  }

  /// What a list has for the rows of a table from a key on; nil where SQLite has to look it up.
  func numbers(for operation: ColumnOperation, from first: Int64) throws -> NumberReader? {
    let runs: [Section]?
    if case .place(let table) = operation {
      if case .byKey(let own) = lists.places[table] { runs = own } else { runs = nil }
    } else {
      runs = lists.owners.first { $0.operation == operation }?.runs
    }
    guard let runs, let file else { return nil }
    return try NumberReader(file, runs: runs, from: first, bytes: bytes)
  }

  /// What gives the pairs of a piece their places, one for each column of them.
  func places(of join: JoinProgram, piece: Piece) throws -> [PairPlaces] {
    try join.columns.indices.compactMap { column in
      guard let table = join.places[join.columns[column]], let places = lists.places[table] else {
        return nil
      }
      if case .inOrder = places {
        return PairPlaces(column: column, source: .owners(OwnerCount()))
      }
      guard case .byNumber(let runs, let before) = places, let file,
        let first = before[piece.number]
      else { throw ShardError(.orderIncomplete, table: piece.destinationTable) }
      return PairPlaces(
        column: column,
        source: .list(try NumberReader(file, runs: runs, from: first, bytes: bytes), next: first))
    }
  }
}

/// Gives pairs their places, as they come.
struct PairPlaces {
  enum Source {
    case owners(OwnerCount)
    case list(NumberReader, next: Int64)
  }

  /// The column of the place.
  let column: Int
  private var source: Source

  init(column: Int, source: Source) {
    self.column = column
    self.source = source
  }

  /// The place of the next pair.
  mutating func next(_ pair: UnsafePointer<Field>) throws(PageError) -> Int64 {
    switch source {
    case .owners(var count):
      let number = count.add(pair[0])
      source = .owners(count)
      return OrderFill.first + OrderFill.step * (number - 1)
    case .list(let reader, let next):
      source = .list(reader, next: next + 1)
      guard let place = try reader.number(of: next) else { throw PageError(.endOfFile) }
      return place
    }
  }
}

/// Counts the rows of an owner that come one after the other.
struct OwnerCount {
  private var count: Int64 = 0
  private var integer: Int64?
  /// The owner where it is no integer.
  private var type: UInt64 = 0
  private var bytes: [UInt8] = []

  /// How many rows of the owner there were, this one included.
  mutating func add(_ owner: Field) -> Int64 {
    if owner.isInteger {
      let value = owner.integer
      count = value == integer ? count + 1 : 1
      integer = value
      return count
    }
    let body = UnsafeRawBufferPointer(start: owner.body, count: owner.size)
    let isSame = integer == nil && count > 0 && type == owner.type && body.elementsEqual(bytes)
    (integer, type, bytes) = (nil, owner.type, Array(body))
    count = isSame ? count + 1 : 1
    return count
  }
}
