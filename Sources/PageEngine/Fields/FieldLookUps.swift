/// What the entity of another row makes of a value: nothing, or a number.
package final class EntityLookUp {
  private let reader: EntityReader
  /// By the bytes of the map, where the entity is a requested one.
  private let results: [Int64?]

  /// Takes the entity numbers that count, and what each becomes.
  package init(_ reader: EntityReader, list: [(Int64, Int64)]) {
    self.reader = reader
    results =
      [nil]
      + reader.map.numbers.map { number in list.first { $0.0 == number }.map(\.1) }
  }

  /// What the row of a key has.
  enum Answer {
    case number(Int64)
    case none, unknown
  }

  @inline(__always)
  func answer(_ key: Int64) throws(PageError) -> Answer {
    let byte = try reader.byte(of: key)
    if byte == EntityMap.odd { return .unknown }
    return results[Int(byte)].map { .number($0) } ?? .none
  }
}

extension FieldProgram {
  /// Keeps what is looked up of the entities of other rows.
  package func add(_ lookUp: EntityLookUp) -> Int {
    lookUps.append(lookUp)
    return lookUps.count - 1
  }

  /// Keeps a list of numbers by the keys of rows, which have to rise.
  package func add(numbers: NumberReader) -> Int {
    listed.append(numbers)
    return listed.count - 1
  }

  /// Declares that a column has places from a list, also where SQLite makes the row.
  package func setPlaces(column: Int, list: Int) { places.append((column + 3, list)) }

  /// A value that depends on a row that is looked up; nil where SQLite has to make it.
  func lookedUp(
    step: FieldStep, field: Field, fields: UnsafePointer<Field>, own: UnsafeMutableRawPointer
  ) -> Field? {
    do throws(PageError) {
      switch step.kind {
      case .listed:
        guard field.isInteger else { return nil }
        guard let number = try listed[Int(step.list)].number(of: field.integer) else {
          return .null
        }
        return step.affinity.applied(
          to: Field(value: number, scratch: own), scratch: own, encoding: encoding)
      default:
        let key = fields[Int(step.number)]
        if key.isNull { return .null }
        guard key.isInteger else { return nil }
        switch try lookUps[Int(step.list)].answer(key.integer) {
        case .none: return .null
        case .unknown: return nil
        case .number(let number):
          return step.affinity.applied(
            to: step.kind == .numbered ? Field(value: number, scratch: own) : field,
            scratch: own, encoding: encoding)
        }
      }
    } catch {
      failure = error
      return nil
    }
  }

  /// Puts the places of a row that SQLite made into it, from their lists.
  ///
  /// - Throws: `PageError`, where SQLite made it because something cannot be looked up.
  func takePlaces(key: Int64) throws {
    if let failure { throw failure }
    for (column, list) in places {
      let number = try listed[list].number(of: key)
      output[column] =
        number.map { Field(value: $0, scratch: scratch + column * 8) } ?? .null
    }
  }
}
