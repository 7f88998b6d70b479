package import ModelFiles
import ObjectModel
import Schema
import StoreFormat
package import Survey
package import SystemPackage

extension StoreSurvey {
  /// Surveys the store of a request, whose model is found among the target's versions, in other
  /// places or in the store.
  ///
  /// - Throws: `MigrationError.sourceModelMissing`, `StoreError` or `ModelFileError`.
  package init(
    opening request: MigrationRequest, access: SourceAccess, target: TargetModel
  ) throws {
    do {
      try self.init(reading: access, for: request, target: target)
    } catch {
      throw diagnosed(
        behind: Self.naming(request.store, insteadOf: access.readable, in: error),
        of: request.store, readable: access.readable)
    }
  }

  /// The error about the store itself if it is about the internal copy that is read.
  private static func naming(
    _ store: FilePath, insteadOf copy: FilePath, in error: any Error
  ) -> any Error {
    switch error {
    case var error as StoreError where error.store == copy:
      error.store = store
      return error
    case MigrationError.sourceModelMissing(copy, let searched, let unreadable):
      return MigrationError.sourceModelMissing(
        store: store, searched: searched, unreadable: unreadable)
    default: return error
    }
  }

  private init(
    reading access: SourceAccess, for request: MigrationRequest, target: TargetModel
  ) throws {
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    try request.sourceCheck.require(
      request.store, reader: reader, bytes: access.fingerprint.bytes)
    let found = try target.sourceModel(
      hashes: metadata.versionHashes, reader: reader, others: request.models)
    try self.init(
      store: request.store, access: access, reader: reader, metadata: metadata, model: found.model)
    isModelInStoresAlone = found.isInStoresAlone
    guard numberContradictions.isEmpty || request.sourceCheck == .off else {
      throw StoreError(problem: .numbersContradict(numberContradictions), store: request.store)
    }
  }
}

extension StoreSurvey {
  /// The same store, read from a file that was made of it or has been changed since.
  func reading(_ access: SourceAccess) throws -> StoreSurvey {
    var result = try StoreSurvey(
      store: store, access: access, reader: StoreReader(immutable: access.readable),
      metadata: metadata, model: model)
    result.isModelInStoresAlone = isModelInStoresAlone
    return result
  }

  /// The numbers of a family's entities that may have objects, with commas.
  func numbers(ofFamily name: String) -> String {
    model.family(of: name).filter { !$0.isAbstract }
      .compactMap { schema.numbers[$0.name].map { "\($0.rawValue)" } }
      .joined(separator: ", ")
  }

  /// Surveys a store, whose model is found in one of the places or in the store.
  ///
  /// - Throws: `MigrationError.sourceModelMissing`, `StoreError` or `ModelFileError`.
  package init(
    store: FilePath, access: SourceAccess, models: [FilePath], library: ModelLibrary
  ) throws {
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    var search = OwnModel(metadata.versionHashes, library: library)
    guard let model = try search.find(in: models, reader: reader) else {
      throw MigrationError.sourceModelMissing(
        store: store, searched: models, unreadable: search.unreadable)
    }
    try self.init(
      store: store, access: access, reader: reader, metadata: metadata, model: model)
  }
}
