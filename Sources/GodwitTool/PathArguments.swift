import ArgumentParser
import SystemPackage

// A conformance of `FilePath` to `ExpressibleByArgument` would be one of every executable that has
// this module, and get in the way of its own.

extension FilePath {
  /// Takes any text but an empty one.
  @Sendable fileprivate static func typed(_ text: String) throws -> FilePath {
    if text.isEmpty { throw ValidationError("a path has at least one character.") }
    TypedPaths.note(text)
    return FilePath(text)
  }
}

extension Argument where Value == FilePath {
  init(help: ArgumentHelp? = nil) {
    self.init(help: help, completion: .file(), transform: FilePath.typed)
  }
}

extension Argument where Value == FilePath? {
  init(help: ArgumentHelp? = nil) {
    self.init(help: help, completion: .file(), transform: FilePath.typed)
  }
}

extension Argument where Value == [FilePath] {
  init(help: ArgumentHelp? = nil) {
    self.init(help: help, completion: .file(), transform: FilePath.typed)
  }

  init(wrappedValue: [FilePath], help: ArgumentHelp? = nil) {
    self.init(
      wrappedValue: wrappedValue, help: help, completion: .file(), transform: FilePath.typed)
  }
}

extension Option where Value == FilePath {
  init(name: NameSpecification = .long, help: ArgumentHelp? = nil) {
    self.init(name: name, help: help, completion: .file(), transform: FilePath.typed)
  }
}

extension Option where Value == FilePath? {
  init(name: NameSpecification = .long, help: ArgumentHelp? = nil) {
    self.init(name: name, help: help, completion: .file(), transform: FilePath.typed)
  }
}

extension Option where Value == [FilePath] {
  init(name: NameSpecification = .long, help: ArgumentHelp? = nil) {
    self.init(name: name, help: help, completion: .file(), transform: FilePath.typed)
  }

  init(
    wrappedValue: [FilePath], name: NameSpecification = .long, help: ArgumentHelp? = nil
  ) {
    self.init(
      wrappedValue: wrappedValue, name: name, help: help, completion: .file(),
      transform: FilePath.typed)
  }
}
