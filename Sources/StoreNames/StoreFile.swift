/// The names of a store's file and of those that SQLite keeps next to it.
package enum StoreFile {
  /// What follows the name of a store in the names of its logs and of the memory for one of them.
  package static let logSuffixes = ["-wal", "-shm", "-journal"]
  /// The same, and nothing for the store itself.
  package static let suffixes = [""] + logSuffixes
  /// Those of the logs that may hold changes to the store.
  package static let changeSuffixes = ["-wal", "-journal"]
}
