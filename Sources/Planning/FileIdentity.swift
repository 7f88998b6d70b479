/// How a worker recognizes that a file is still the one that the coordinator has read.
package struct FileIdentity: Hashable, Codable, Sendable {
  /// The number of the file system; nil where other machines number it differently.
  package var device: UInt64?
  /// The number of the file in its file system.
  package var inode: UInt64
  /// The size of the file.
  package var bytes: Int64
  /// Nanoseconds since 1970.
  package var modified: Int64
  /// When anything of it changed last, its names as well.
  package var changed: Int64

  /// Uses the system's values for the file, with times in nanoseconds since 1970.
  package init(device: UInt64?, inode: UInt64, bytes: Int64, modified: Int64, changed: Int64) {
    self.device = device
    self.inode = inode
    self.bytes = bytes
    self.modified = modified
    self.changed = changed
  }
}
