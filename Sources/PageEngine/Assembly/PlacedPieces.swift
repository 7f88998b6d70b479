import MigrationEngine
import Planning
import RowPrograms
import Schema
import SystemCalls
import SystemPackage

/// One piece of a table, with the open shard that lists its pages.
struct PlacedPagePiece: Sendable {
  var shard: FileDescriptor
  var result: ShardManifest.PieceResult
  var pages: PagePiece
  /// What to add to the row numbers that its worker gave.
  var rowOffset: Int64 = 0
}

/// All pieces of a migration, by table and in key order, their shards open.
struct PlacedPages: ~Copyable {
  let tables: [(name: String, pieces: [PlacedPagePiece])]
  /// Indexes that came from the source, by name, each with its shard.
  let moved: [String: (MovedIndex, FileDescriptor)]
  /// The pointer map entries of the workers' pages, each with its shard.
  let pointers: [(FileDescriptor, [Section])]
  /// What each worker left.
  let shards: [(order: Int, file: String, pieces: [ShardManifest.PieceResult], pages: PageShard)]
  private let files: [FileDescriptor]

  init(_ order: AssemblyOrder) throws {
    var files: [FileDescriptor] = []
    var shards:
      [(order: Int, file: String, pieces: [ShardManifest.PieceResult], pages: PageShard)] = []
    var placed: [Int: PlacedPagePiece] = [:]
    var moved: [String: (MovedIndex, FileDescriptor)] = [:]
    var pointers: [(FileDescriptor, [Section])] = []
    do {
      for manifest in order.manifests {
        guard let shard = try? manifest.outcome?.decoded(as: PageShard.self) else {
          throw AssemblyError.manifestForeign(order.folder.appending(manifest.shard))
        }
        shards.append((manifest.order, manifest.shard, manifest.pieces, shard))
        let file = try Files.open(
          order.folder.appending(manifest.shard), mode: .readOnly)
        files.append(file)
        if shard.isUnmovable { throw PageError(.unmovable) }
        pointers.append((file, shard.pointers))
        for (name, index) in shard.moved { moved[name] = (index, file) }
        for (result, pages) in zip(manifest.pieces, shard.pieces)
        where result.piece == pages.piece {
          placed[result.piece] = PlacedPagePiece(
            shard: file, result: result, pages: pages)
        }
      }
    } catch {
      for file in files { try? file.close() }
      throw error
    }
    self.files = files
    self.shards = shards
    self.moved = moved
    self.pointers = pointers
    tables = Self.byTable(order, placed: placed)
  }

  deinit { for file in files { try? file.close() } }

  private static func byTable(
    _ order: AssemblyOrder, placed: [Int: PlacedPagePiece]
  ) -> [(name: String, pieces: [PlacedPagePiece])] {
    let joins = Set(
      order.plan.program.joins.filter { !$0.keepsRowNumbers }.map(\.destinationTable))
    return order.tables(placed: placed).map { name, places in
      var pieces = places
      if joins.contains(name) { renumber(&pieces) }
      return (name, pieces)
    }
  }

  /// Rows of join tables are numbered through, which the plan may have foreseen or not.
  private static func renumber(_ pieces: inout [PlacedPagePiece]) {
    var before: Int64 = 0
    for index in pieces.indices {
      pieces[index].rowOffset = before - pieces[index].pages.rowsBefore
      before += pieces[index].result.rowsWritten
    }
  }

  /// The names of external files in the shards of a folder, where they stay.
  func externalNames(in folder: FilePath) -> ExternalNames {
    var lists: [String: [(shard: FilePath, sections: [Section])]] = [:]
    var unlisted: Set<String> = []
    for shard in shards {
      for (piece, pages) in zip(shard.pieces, shard.pages.pieces) {
        if let names = pages.names {
          lists[piece.table, default: []].append((folder.appending(shard.file), names))
        } else {
          unlisted.insert(piece.table)
        }
      }
    }
    for table in unlisted { lists[table] = nil }
    return ExternalNames(
      lists.mapValues { lists in
        { body in
          for list in lists where !list.sections.isEmpty {
            let file = try Files.open(list.shard, mode: .readOnly)
            try file.closeAfter {
              let reader = SectionReader(descriptor: file, sections: list.sections)
              while let name = try reader.nextName() { try body(name.text) }
            }
          }
        }
      })
  }

  subscript(_ table: String) -> [PlacedPagePiece] {
    tables.first { $0.name == table }?.pieces ?? []
  }
}

extension [PlacedPagePiece] {
  func sections(_ list: (PagePiece) -> [Section]) -> [(FileDescriptor, Section)] {
    flatMap { piece in list(piece.pages).map { (piece.shard, $0) } }
  }
}
