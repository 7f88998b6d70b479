/// The value of an option in JSON.
package enum OptionValue: Hashable, Codable, Sendable {
  /// Set or not.
  case flag(Bool)
  /// A whole number.
  case number(Int64)
  /// A word, or another text.
  case word(String)
  /// Texts.
  case list([String])
  /// The options of a group, by their names in it.
  case group([String: OptionValue])

  /// Decodes a value by its form.
  package init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let flag = try? value.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? value.decode(Int64.self) {
      self = .number(number)
    } else if let word = try? value.decode(String.self) {
      self = .word(word)
    } else if let list = try? value.decode([String].self) {
      self = .list(list)
    } else {
      self = .group(try value.decode([String: OptionValue].self))
    }
  }

  /// Encodes the value alone, without its case.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .flag(let flag): try container.encode(flag)
    case .number(let number): try container.encode(number)
    case .word(let word): try container.encode(word)
    case .list(let list): try container.encode(list)
    case .group(let members): try container.encode(members)
    }
  }
}
