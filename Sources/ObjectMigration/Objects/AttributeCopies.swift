import Schema

/// The attributes that objects of two entities share, worked out once.
final class AttributeCopies {
  private struct Step {
    let name: String
    let from: AttributeFacts
    let to: AttributeFacts
    /// Whether both keep their values alike.
    let isAlike: Bool
  }

  let source: EntityFacts
  private let steps: [Step]

  /// Takes the attributes of both, in the order of their names.
  init(from source: EntityFacts, to destination: EntityFacts) {
    self.source = source
    steps = source.attributes.keys.sorted().compactMap { name in
      guard let from = source.attributes[name], let to = destination.attributes[name] else {
        return nil
      }
      return Step(name: name, from: from, to: to, isAlike: from.form == to.form)
    }
  }

  /// Sets each attribute to what the other object has.
  func copy(from other: ManagedObject, to object: ManagedObject) throws {
    guard !other.context.makesOneAtATime, !object.context.makesOneAtATime, !object.isSource else {
      for step in steps { try object.set(step.name, value: try other.attribute(name: step.name)) }
      return
    }
    let values = try other.loadedRow()
    if other.context.isWatched {
      for step in steps { other.facts.noteRead(at: step.from.index) }
    }
    try object.changeRow { row in
      for step in steps {
        let stored = values[step.from.index]
        row[step.to.index] =
          step.isAlike && step.to.form.keeps(stored)
          ? stored : try converted(stored, step: step, from: other, to: object)
        if object.isInserted { object.changed.insert(step.to.index) }
      }
    }
  }

  private func converted(
    _ stored: StoredValue, step: Step, from other: ManagedObject, to object: ManagedObject
  ) throws -> StoredValue {
    let value = try other.context.value(stored: stored, of: step.from)
    do {
      let stored = try AttributeConversion.stored(value, for: step.to.form)
      object.context.waitingBytes += stored.byteCount
      return stored
    } catch let error as ObjectMigrationError {
      throw object.placed(error, property: step.name)
    }
  }
}

extension ManagedObject {
  /// Copies every attribute that both objects have.
  ///
  /// - Throws: as `set(_:value:)`, at the first attribute by name whose value is refused.
  package func copyAttributes(from other: ManagedObject) throws {
    let copies: AttributeCopies
    if let known = facts.copies, known.source === other.facts {
      copies = known
    } else {
      copies = AttributeCopies(from: other.facts, to: facts)
      facts.copies = copies
    }
    try copies.copy(from: other, to: self)
  }
}
