import Foundation

/// The name of an engine, by which plans, work orders and manifests refer to it.
package struct EngineName: RawRepresentable, Hashable, Codable, Sendable {
  /// The name as `--engine`, plans and reports have it: `sql`, `pages`, `objects`.
  package let rawValue: String

  /// Takes any name; `EngineList` knows which of them an engine has.
  package init(rawValue: String) { self.rawValue = rawValue }
}

/// What an engine hands from one process to another; only the engine itself reads it.
package struct EnginePayload: Hashable, Codable, Sendable {
  private var data: Data

  /// Encodes a value as JSON.
  ///
  /// - Throws: `EncodingError` where the value cannot be encoded.
  package init(encoding value: some Encodable) throws {
    data = try PlanCoding.encoder.encode(value)
  }

  /// The value that was encoded; throws a `DecodingError` where it is of another type.
  package func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    try PlanCoding.decoder.decode(type, from: data)
  }
}
