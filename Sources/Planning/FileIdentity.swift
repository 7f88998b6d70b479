/// By what a worker knows that a file is still the one that the coordinator has looked at.
package struct FileIdentity: Hashable, Codable, Sendable {
  package var device: UInt64
  package var inode: UInt64
  package var bytes: Int64
  /// Nanoseconds since 1970.
  package var modified: Int64
  /// When anything of it changed last, its names as well.
  package var changed: Int64

  package init(device: UInt64, inode: UInt64, bytes: Int64, modified: Int64, changed: Int64) {
    self.device = device
    self.inode = inode
    self.bytes = bytes
    self.modified = modified
    self.changed = changed
  }
}
