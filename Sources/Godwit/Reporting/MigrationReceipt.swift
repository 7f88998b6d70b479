import Mapping
import MigrationCoordinator
import Planning

/// A document of a migration and both stores, with which others can check the stores.
///
/// ```swift
/// let receipt = try MigrationReceiptFiles(["receipt.json"], of: migration)
/// try receipt.write(try await migration.run())
/// ```
public struct MigrationReceipt: Hashable, Sendable, Codable {
  /// The version of the JSON, which rises when a field changes its meaning or goes.
  public static let version = 1
  private static let currentFormat = "godwit receipt"
  /// The largest receipt that is read, in bytes.
  static let limit = 64 << 20

  /// Several files as one.
  public struct Files: Hashable, Sendable, Codable {
    /// How many regular files there are.
    public var count: Int
    /// Their bytes.
    public var bytes: Int64
    /// The SHA-256 of the lines `SHA-256  NAME`, as `sha256sum` prints them, in the byte order of
    /// the names.
    public var sha256: String
  }

  /// References of one relationship; pairs count once, under the relationship after which their
  /// table is named.
  public struct References: Hashable, Sendable, Codable {
    /// The entity that declares the relationship.
    public var entity: String
    /// The relationship.
    public var relationship: String
    /// How many there are, those that lead nowhere among them.
    public var count: Int64
  }

  /// A store at the moment of the migration.
  public struct Store: Hashable, Sendable, Codable {
    /// Its path, as it was named.
    public var path: String
    /// Where it lies now, if that is elsewhere: the old store of a migration in place.
    public var keptAs: String?
    /// Its UUID.
    public var uuid: String
    /// The names of its version, as far as they are known.
    public var versions: [String]
    /// The checksum over its version hashes, as Core Data computes it.
    public var versionChecksum: String
    /// The bytes of its main file, with the pages that its `-wal` holds.
    public var bytes: Int64
    /// The SHA-256 of these bytes, in hexadecimal digits.
    public var sha256: String
    /// The files of its external values; nil if there are none.
    public var externalFiles: Files?
    /// Objects by entity, without those of subentities, counted row by row; nil if the store is
    /// damaged.
    public var objects: [String: Int64]?
    /// References by relationship, counted row by row; nil if the store is damaged.
    public var references: [References]?
  }

  /// A step from version to version.
  public struct Step: Hashable, Sendable, Codable {
    /// A mapping model of the step.
    public struct Mapping: Hashable, Sendable, Codable {
      /// The path of its file or folder; of inference with other values, words for that.
      public var path: String
      /// The SHA-256 of its file, or of the files in its folder as of ``Files``; nil where there is
      /// none.
      public var sha256: String?
    }

    /// The names of the version before the step.
    public var from: [String]
    /// The names of the version after the step.
    public var to: [String]
    /// The mapping models; empty if the step is inferred.
    public var mappings: [Mapping]
  }

  /// What went, for one cause.
  public struct Drop: Hashable, Sendable, Codable {
    /// The cause.
    public var cause: String
    /// How many objects or references.
    public var count: Int64
  }

  /// What became of the objects of an entity, or of the references of a relationship: `in` is `out`
  /// and all of `dropped`.
  public struct Account: Hashable, Sendable, Codable {
    /// The number of the stage, from 1.
    public var stage: Int
    /// The entity, by its name before the stage.
    public var entity: String
    /// The relationship; nil for objects.
    public var relationship: String?
    /// How many there were before the stage.
    public var `in`: Int64
    /// Those of `in` that are kept.
    public var out: Int64
    /// The others.
    public var dropped: [Drop]
  }

  /// A loss, and why it was allowed.
  public struct Loss: Hashable, Sendable, Codable {
    /// What allowed a loss.
    public enum Consent: String, Hashable, Sendable, Codable, CaseIterable {
      /// `--allow-loss` with the name of the entity or property.
      case named
      /// `--allow-loss` without a name.
      case anything
      /// A choice about values, duplicates, missing references or history.
      case choice
      /// None was needed: the new model lacks what is lost.
      case model
    }

    /// What is lost.
    public var kind: String
    /// Why it is lost.
    public var cause: String
    /// The entity.
    public var entity: String
    /// The property, nil if whole objects or rows are lost.
    public var property: String?
    /// How many objects, values, references or rows are lost.
    public var count: Int64
    /// Some of the lowest primary keys.
    public var keys: [Int64]
    /// Why it was allowed.
    public var consent: Consent
    /// The loss as a sentence.
    public var sentence: String
  }

  /// How the new store was verified before it took its place.
  public struct Verification: Hashable, Sendable, Codable {
    /// `quick` or `full`; nil where the store was copied.
    public var level: String?
    /// The engine that made the store.
    public var engine: String?
    /// What was verified, in sentences.
    public var sentence: String
  }

  private var format = Self.currentFormat
  private var version = Self.version
  /// The version of Godwit.
  public var godwit: String
  /// When the receipt was made, in ISO 8601.
  public var made: String
  /// `migrated` or `copied`.
  public var outcome: String
  /// The old store.
  public var source: Store
  /// The new store.
  public var result: Store
  /// The steps from the old store's version to the new one's.
  public var steps: [Step]
  /// The expressions that gave attributes their values, as `Entity.property=EXPRESSION`.
  public var values: [String] = []
  /// The objects of each entity that has some, stage by stage.
  public var objects: [Account]
  /// The references of relationships that lost some; those of all others are in the new store.
  public var references: [Account]
  /// What was lost.
  public var losses: [Loss]
  /// How the new store was verified.
  public var verification: Verification
  /// Whatever else is notable, one sentence each.
  public var notes: [String]
  /// The SHA-256 of all other fields, as JSON on one line with sorted keys, in hexadecimal digits.
  ///
  /// It shows that the file was edited, and proves nothing of who made it.
  public var sha256: String?

  /// Whether this version knows the form of a receipt that was read.
  var isKnown: Bool { format == Self.currentFormat && version == Self.version }

  init(_ report: MigrationReport, source: Store, result: Store, made: String) {
    godwit = report.godwit
    self.made = made
    outcome = report.outcome.rawValue
    (self.source, self.result) = (source, result)
    (steps, losses) = ([], [])
    objects = report.accounts.flatMap { stage in
      stage.entities.filter { $0.rowsIn > 0 }.map { entity in
        Account(
          stage: stage.stage, entity: entity.entity, in: entity.rowsIn, out: entity.rowsOut,
          dropped: entity.dropped.map { .init(cause: $0.cause.rawValue, count: $0.objects) })
      }
    }
    references = report.accounts.flatMap { stage in
      (stage.references ?? []).map { one in
        Account(
          stage: stage.stage, entity: one.entity, relationship: one.relationship,
          in: one.referencesIn, out: one.referencesOut,
          dropped: one.dropped.map { .init(cause: $0.cause.rawValue, count: $0.references) })
      }
    }
    verification = Verification(
      level: report.wasVerifiedFully.map { $0 ? "full" : "quick" },
      engine: report.engine?.rawValue, sentence: report.verificationSentence)
    let told = Set(report.losses.map(\.sentence))
    notes = report.notes.filter { !told.contains($0) }
  }
}

extension MigrationReceipt.Loss {
  init(_ loss: Loss, consent ground: LossGround) {
    (kind, cause) = (loss.kind.rawValue, loss.cause.rawValue)
    (entity, property, count, keys) = (loss.entity, loss.property, loss.count, loss.keys)
    consent =
      switch ground {
      case .named: .named
      case .anything: .anything
      case .choice: .choice
      case .model: .model
      }
    sentence = loss.sentence
  }
}
