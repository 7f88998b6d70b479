import Mapping
import MigrationCoordinator
import ModelFiles
import ObjectModel
import RowPrograms
import SystemPackage

extension MigrationFailure {
  init(_ error: ModelFileError) {
    let file = error.file.map { "\($0)" } ?? "the model"
    let place = [error.entity, error.property].compactMap(\.self).joined(separator: ".")
    let at = place.isEmpty ? "" : " at \(place)"
    switch error.problem {
    case .notFound: self.init(missing: file)
    case .specialFile: self.init(specialFile: file)
    case .unreadable(let errno):
      self.init(unreadable: file, errno)
    case .noModel:
      self.init(
        .notFound, "\(file) contains no managed object model: name a bundle or a version.")
    case .severalModels(let found):
      self.init(
        .usage,
        "\(file) contains several models (\(ListText(found))): name one.")
    case .searchTooWide:
      self.init(
        .usage, "\(file) contains too many files to search: name the model itself.")
    case .noCurrentVersion:
      self.init(
        .notFound,
        "\(file) has several versions and does not state which is current: name one of them.")
    case .currentVersionMissing(let name):
      self.init(
        .notFound,
        "\(file) names \(name) as its current version, but does not contain it: name a version "
          + "that it has.")
    case .versionMissing(let name, let available):
      self.init(
        .notFound,
        "\(file) has no version \(name): it has \(ListText(available, most: 40)).")
    case .configurationMissing(let name):
      self.init(.notFound, "\(file) has no configuration \(name): check its spelling.")
    case .conflictingEntity:
      self.init(
        .impossible,
        "\(place) is defined differently in two of the models: leave one of them out.")
    case .modelBeforeXcode4:
      self.init(
        .impossible,
        "\(file) is a model source of Xcode before version 4: save it with a newer Xcode.")
    case .unknownHash(let error): self.init(unknownHash: error, in: file)
    default:
      self.init(
        .damaged,
        "\(file) is not a readable model\(at) (\(error.problem.words)): check the file.")
    }
    self.file = error.file
    if case .damagedXML(let line) = error.problem { self.line = line }
  }
}

extension MigrationFailure {
  /// Describes a store without a model that matches its hashes, and models that could not be read.
  init(sourceModelOf store: FilePath, searched: [FilePath], unreadable: [ModelFileError]) {
    let found =
      searched.isEmpty
      ? "not in the store" : "neither in \(ListText(searched)) nor in the store"
    self.init(
      .impossible, kind: .sourceModelMissing, at: store,
      [
        "\(store) was made with a model that is \(found): name the folder that contains it with "
          + "\(option: .models)."
      ] + unreadable.flatMap { MigrationFailure($0).sentences },
      code: CoreDataCode.migrationMissingSourceModel.rawValue)
  }
}

extension MigrationFailure {
  init(joinTable text: String) {
    self.init(
      .usage,
      "\(text) is not a many-to-many relationship of an entity with itself, so it names no table: "
        + "write \(option: .joinTable, "Entity.relationship").")
  }
}

extension JoinContinuation.Choice {
  /// The assumed name of a join table, as a note.
  package var sentence: String {
    let why = reason == .kept ? "as in the source" : "as in most new stores"
    return "the table of \(entity).\(relationship) and \(entity).\(other) is named after "
      + "\(relationship), \(why); if Core Data does not find it, use "
      + "\(option: .joinTable, "\(entity).\(other)")."
  }
}

extension MigrationReport.CachePart {
  /// What the store's own model lacks, as a note.
  package var sentence: String {
    let place = [entity, property].compactMap(\.self).joined(separator: ".")
    return "the embedded model of the store lacks \(place.isEmpty ? "" : "\(place)'s ")\(part)."
  }
}

extension ManagedObjectModel {
  /// A sentence for each part of the model's file that could not be read.
  package func unreadSentences(of file: String) -> [String] {
    sentences(on: unreadParts, of: file)
  }

  /// The same for parts without which a version hash is not known.
  func unreadHashedSentences(of file: String) -> [String] {
    sentences(on: unreadParts.filter(\.part.part.isHashed), of: file)
  }

  private func sentences(
    on parts: [(entity: String?, property: String?, part: UnreadPart)], of file: String
  ) -> [String] {
    parts.map { entity, property, part in
      let place = [entity, property].compactMap(\.self).joined(separator: ".")
      return "\(file)\(place.isEmpty ? "" : " at \(place)"): \(part.clause)."
    }
  }
}

extension UnknownVersionHash.Reason {
  fileprivate var words: String {
    switch self {
    case .unread(let part): part.clause
    case .compositeAttribute: "a composite whose elements are not known"
    case .compositeElements: "the order of its elements' hashes"
    case .objectIDAttribute: "an object identifier"
    case .externalStorageAndPreservation: "external storage together with preservation"
    case .filteredDerivation: "a derivation with a filter"
    case .derivation(let text): "the derivation \(text)"
    }
  }
}

extension MigrationFailure {
  // It has a label: without one, the call without a file means `init(_: any Error)`, since Swift
  // prefers an overload whose arguments are all given.
  init(unknownHash error: UnknownVersionHash, in file: String? = nil) {
    let place = [error.entity, error.property].compactMap(\.self).joined(separator: ".")
    let cause =
      if case .unread(let part) = error.reason {
        part.clause
      } else {
        "no real store shows how Core Data hashes it (\(error.reason.words))"
      }
    self.init(
      .impossible,
      "the version hash of \(place)\(file.map { " in \($0)" } ?? "") is not known, because \(cause)."
    )
  }
}
