package import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Files {
  /// The paths that match a pattern with `*`, `?` and `[…]`, sorted; none where nothing does.
  package static func matching(_ pattern: FilePath) -> [FilePath] {
    var found = glob_t()
    defer { globfree(&found) }
    guard glob(pattern.string, 0, nil, &found) == 0 else { return [] }
    return (0..<Int(found.gl_pathc)).compactMap { index in
      found.gl_pathv[index].map { FilePath(platformString: $0) }
    }
  }
}
