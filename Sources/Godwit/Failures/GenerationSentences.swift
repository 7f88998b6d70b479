import ObjectModel
import StoreFormat
package import StoreGenerator
import SystemCalls

extension MigrationFailure {
  /// Describes a failure of the generator.
  package init(generating error: GenerationError) {
    let file = error.place.map { "\($0)" } ?? "the output"
    switch error.problem {
    case .rowsOutOfRange(let rows):
      self.init(
        .usage, "\(CountText(rows, "object")) cannot be generated: use 0 to \(Int64(1) << 40).")
    case .historyOutOfRange(let size):
      self.init(
        .usage,
        "\(CountText(size.changes, "change")) in \(CountText(size.transactions, "transaction")) "
          + "cannot be generated: use 0 to \(HistorySize.maximum) of each, and at least one "
          + "transaction for any changes.")
    case .configurationUnknown(let name):
      self.init(
        .notFound, "the model has no configuration \(name): check its spelling.")
    case .noEntity:
      self.init(.impossible, "the model has no entities: there is nothing to generate.")
    case .unread(let entity, let property, let part):
      let place = [entity, property].compactMap(\.self).joined(separator: ".")
      self.init(
        .impossible,
        "the model cannot be used\(place.isEmpty ? "" : " at \(place)"): \(part.clause).")
    case .noConcreteEntity:
      self.init(
        .impossible, "all entities of the model are abstract: there is nothing to generate."
      )
    case .hashUnknown(let unknown): self.init(unknownHash: unknown)
    case .schemaNotSupported(let unsupported): self.init(unsupported)
    case .constraintCannotHold(let index):
      self.init(
        .impossible,
        "the uniqueness constraint of \(index) allows too few values: lower the number of objects.")
    case .outputExists:
      self.init(
        .cannotCreate, kind: .fileExists,
        "\(file) already exists: name another file or remove it.")
    case .nameTooLong(let most): self.init(longName: error.place, most: most)
    case .spaceMissing(let needed, let free):
      self.init(
        .cannotWrite,
        "\(file) needs about \(ByteText(needed)), and \(ByteText(free)) are free: lower the number "
          + "of objects, or name a file on another disk.")
    case .folderMissing:
      self.init(.notFound, "the folder of \(file) does not exist: create it first.")
    case .writeFailed
    where error.cause.map { StoreError.disposition(of: $0).contains(.deviceFailed) } == true:
      self.init(
        .cannotWrite, "\(file) cannot be written: its disk reports a fault; check the disk.")
    case .writeFailed:
      let cause = error.cause.map { " (\($0))" } ?? ""
      self.init(
        .cannotWrite, "\(file) cannot be written\(cause): check space and permissions.")
    case .interrupted: self.init(.interrupted, "interrupted: no file was left.")
    }
    self.file = error.place
  }
}

extension GenerationReport.Note {
  /// The property and what its values lack, as a sentence.
  package var sentence: String {
    let place = "\(entity).\(property)"
    switch reason {
    case .derivationNotComputed:
      return "\(place) is derived in a way that Godwit cannot compute; "
        + "it is nil."
    case .validationNotHonoured:
      return "\(place) has a validation rule that the generated values "
        + "ignore."
    case .mandatoryLeftEmpty: return "\(place) is mandatory, and some objects lack it."
    case .maximumExceeded: return "\(place) holds more objects than its maximum."
    case .limitedByConstraint: return "\(place) is limited by a uniqueness constraint."
    }
  }
}
