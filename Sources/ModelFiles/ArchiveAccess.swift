package import KeyedArchives

/// The archive's questions with this module's error.
extension KeyedArchive {
  package func `class`(of id: ID) throws(ModelFileError) -> String {
    guard let name = try damaged({ () throws(KeyedArchiveError) in try className(id: id) }) else {
      throw ModelFileError(.notAModelArchive)
    }
    return name
  }

  package func target(key: String, of id: ID) throws(ModelFileError) -> ID? {
    try damaged { () throws(KeyedArchiveError) in try reference(key, of: id) }
  }

  package func text(key: String, of id: ID) throws(ModelFileError) -> String? {
    try damaged { () throws(KeyedArchiveError) in try string(key: key, of: id) }
  }

  package func requiredText(_ key: String, of id: ID) throws(ModelFileError) -> String {
    guard let text = try text(key: key, of: id) else {
      throw ModelFileError(
        .damagedArchive(KeyedArchiveError(.wrongKind(key: key), object: id.rawValue)))
    }
    return text
  }

  /// The text under a key, where there is any.
  func nameIfAny(_ key: String, of id: ID) -> String? { (try? string(key: key, of: id)) ?? nil }

  package func number(key: String, of id: ID) throws(ModelFileError) -> Int64? {
    try damaged { () throws(KeyedArchiveError) in try integer(key: key, of: id) }
  }

  package func flag(key: String, of id: ID) throws(ModelFileError) -> Bool {
    try damaged { () throws(KeyedArchiveError) in try bool(key: key, of: id) }
  }

  package func fraction(key: String, of id: ID) throws(ModelFileError) -> Double? {
    try damaged { () throws(KeyedArchiveError) in try real(key, of: id) }
  }

  package func bytes(key: String, of id: ID) throws(ModelFileError) -> [UInt8]? {
    try damaged { () throws(KeyedArchiveError) in try data(key: key, of: id) }
  }

  /// The members of an array or set without nil ones.
  package func members(key: String, of id: ID) throws(ModelFileError) -> [ID]? {
    try damaged { () throws(KeyedArchiveError) in try elements(key: key, of: id)?.compactMap { $0 }
    }
  }

  package func members(of id: ID) throws(ModelFileError) -> [ID] {
    try damaged { () throws(KeyedArchiveError) in try elements(id: id).compactMap { $0 } }
  }

  package func dictionary(key: String, of id: ID) throws(ModelFileError) -> [(
    key: String, value: ID
  )]? {
    guard let dictionary = try target(key: key, of: id) else { return nil }
    return try damaged { () throws(KeyedArchiveError) in try entries(id: dictionary) }
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
