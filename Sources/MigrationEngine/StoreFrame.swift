package import StoreFormat

/// What a store has besides rows and indexes, known before those are made but for keys of objects.
package struct StoreFrame: Sendable {
  /// The contents of `Z_METADATA`.
  package var metadata: StoreMetadata
  /// The archived model for `Z_MODELCACHE`, deflated; nil to leave the table empty.
  package var modelCache: [UInt8]?
  /// The highest primary keys ever assigned, by root entity.
  package var maxima: [String: Int64]
  /// The numbers of the app in the header.
  package var appNumbers: AppNumbers

  /// Creates the frame of a store.
  package init(
    metadata: StoreMetadata, modelCache: [UInt8]?, maxima: [String: Int64],
    appNumbers: AppNumbers = AppNumbers()
  ) {
    self.metadata = metadata
    self.modelCache = modelCache
    self.maxima = maxima
    self.appNumbers = appNumbers
  }
}
