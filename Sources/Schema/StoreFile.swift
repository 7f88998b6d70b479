/// The names of the files that SQLite keeps next to a store.
package enum StoreFile {
  /// What follows the name of a store in the names of its logs and of the memory for one of them.
  package static let logSuffixes = ["-wal", "-shm", "-journal"]
  /// Those of the logs that may hold changes to the store.
  package static let changeSuffixes = ["-wal", "-journal"]
}
