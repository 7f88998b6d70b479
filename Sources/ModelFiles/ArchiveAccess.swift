package import KeyedArchives

/// Access to an archive with the errors of this module.
///
/// - Throws: `ModelFileError` with `damagedArchive`, for a value of another kind.
extension KeyedArchive {
  /// The name of the object's class.
  ///
  /// - Throws: `ModelFileError` with `notAModelArchive`, for a scalar.
  package func `class`(of id: ID) throws(ModelFileError) -> String {
    guard let name = try damaged({ () throws(KeyedArchiveError) in try className(id: id) }) else {
      throw ModelFileError(.notAModelArchive)
    }
    return name
  }

  /// The object that a key refers to, nil if the key is absent or refers to `$null`.
  package func target(key: String, of id: ID) throws(ModelFileError) -> ID? {
    try damaged { () throws(KeyedArchiveError) in try reference(key: key, of: id) }
  }

  /// The string under a key, nil if the key is absent.
  package func text(key: String, of id: ID) throws(ModelFileError) -> String? {
    try damaged { () throws(KeyedArchiveError) in try string(key: key, of: id) }
  }

  /// The string under a key that must not be absent.
  package func requiredText(_ key: String, of id: ID) throws(ModelFileError) -> String {
    guard let text = try text(key: key, of: id) else {
      throw ModelFileError(
        .damagedArchive(KeyedArchiveError(.wrongKind(key: key), object: id.rawValue)))
    }
    return text
  }

  /// The string under a key, nil for anything else.
  func nameIfAny(_ key: String, of id: ID) -> String? { (try? string(key: key, of: id)) ?? nil }

  /// The integer under a key, nil if the key is absent.
  package func number(key: String, of id: ID) throws(ModelFileError) -> Int64? {
    try damaged { () throws(KeyedArchiveError) in try integer(key: key, of: id) }
  }

  /// The boolean under a key, false if the key is absent.
  package func flag(key: String, of id: ID) throws(ModelFileError) -> Bool {
    try damaged { () throws(KeyedArchiveError) in try bool(key: key, of: id) }
  }

  /// The number under a key, nil if the key is absent.
  package func fraction(key: String, of id: ID) throws(ModelFileError) -> Double? {
    try damaged { () throws(KeyedArchiveError) in try real(key: key, of: id) }
  }

  /// The bytes under a key, nil if the key is absent.
  package func bytes(key: String, of id: ID) throws(ModelFileError) -> [UInt8]? {
    try damaged { () throws(KeyedArchiveError) in try data(key: key, of: id) }
  }

  /// The members of the array or set under a key, without `$null`; nil if the key is absent.
  package func members(key: String, of id: ID) throws(ModelFileError) -> [ID]? {
    try damaged { () throws(KeyedArchiveError) in try elements(key: key, of: id)?.compactMap { $0 }
    }
  }

  /// The members of an array or set, without `$null`.
  package func members(of id: ID) throws(ModelFileError) -> [ID] {
    try damaged { () throws(KeyedArchiveError) in try elements(id: id).compactMap { $0 } }
  }

  /// The entries of the dictionary under a key, nil if the key is absent.
  package func dictionary(key: String, of id: ID) throws(ModelFileError) -> [(
    key: String, value: ID
  )]? {
    guard let dictionary = try target(key: key, of: id) else { return nil }
    return try damaged { () throws(KeyedArchiveError) in try entries(id: dictionary) }
  }

  /// The texts of a list in the user info; none where the value is something else.
  func userInfoTexts(key: String, of id: ID) throws(ModelFileError) -> [String] {
    let entry = try dictionary(key: "NSUserInfo", of: id)?.first { $0.key == key }
    guard let entry, try self.class(of: entry.value).hasSuffix("Array") else { return [] }
    return try members(of: entry.value).compactMap { string(id: $0) }
  }

  private func damaged<Result>(
    _ body: () throws(KeyedArchiveError) -> Result
  ) throws(ModelFileError) -> Result {
    do {
      return try body()
    } catch {
      throw ModelFileError(.damagedArchive(error))
    }
  }
}
