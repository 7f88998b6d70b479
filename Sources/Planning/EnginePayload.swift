import Foundation

/// The name of an engine, by which plans, work orders and manifests refer to it.
package struct EngineName: RawRepresentable, Hashable, Codable, Sendable {
  /// The name as `--engine`, plans and reports have it: `sql`, `pages`, `objects`.
  package let rawValue: String

  /// `INSERT … SELECT`.
  package static let sql = Self(rawValue: "sql")
  /// B-tree pages.
  package static let pages = Self(rawValue: "pages")
  /// A clone in which only changed tables are made.
  package static let clone = Self(rawValue: "clone")
  /// An edit of the store itself.
  package static let edit = Self(rawValue: "edit")
  /// Object by object.
  package static let objects = Self(rawValue: "objects")

  /// Takes any name; `EngineList` knows which of them an engine has.
  package init(rawValue: String) { self.rawValue = rawValue }
}

/// What an engine hands from one process to another; only the engine itself reads it.
///
/// It is encoded only on its way out of the process.
package struct EnginePayload: Hashable, Codable, Sendable {
  private enum Content: Sendable {
    case value(any Codable & Sendable)
    case encoded(Data)
  }

  private enum CodingKeys: CodingKey { case data }

  private let content: Content

  /// Takes a value that can be encoded as JSON.
  package init(_ value: some Codable & Sendable) { content = .value(value) }

  /// Takes what another process has encoded.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    content = .encoded(try container.decode(Data.self, forKey: .data))
  }

  /// Encodes the value as JSON.
  ///
  /// - Throws: `EncodingError` where the value cannot be encoded.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(encoded(), forKey: .data)
  }

  private func encoded() throws -> Data {
    switch content {
    case .value(let value): try PlanCoding.encoder.encode(value)
    case .encoded(let data): data
    }
  }

  /// Whether both are encoded alike, or cannot be.
  package static func == (one: EnginePayload, other: EnginePayload) -> Bool {
    (try? one.encoded()) == (try? other.encoded())
  }

  /// Hashes what is encoded.
  package func hash(into hasher: inout Hasher) { hasher.combine(try? encoded()) }

  /// The value; throws a `DecodingError` where it is of another type.
  package func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    switch content {
    case .value(let value as Value): return value
    case .value(let other):
      throw DecodingError.typeMismatch(
        type, .init(codingPath: [], debugDescription: "\(Swift.type(of: other))"))
    case .encoded(let data): return try PlanCoding.decoder.decode(type, from: data)
    }
  }
}
