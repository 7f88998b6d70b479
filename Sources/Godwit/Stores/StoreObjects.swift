import Foundation
import Inspection
import Mapping
import Survey
public import SystemPackage

/// Objects of an entity in a store, as people read them.
///
/// They are read one by one in key order, so memory does not grow with their number. Of long texts
/// and bytes only the beginning is read, unless all is requested.
///
/// ```swift
/// var books = StoreObjects(of: "Book", in: "Shop.sqlite")
/// books.predicate = "pages > 100 AND author.name BEGINSWITH 'A'"
/// try books.read { book in
///   print(book.entity, book.key, book.value("pages")?.integerValue ?? 0)
///   return true
/// }
/// ```
public struct StoreObjects: Sendable {
  /// The store.
  public var store: FilePath
  /// The entity, with whose objects those of its subentities come.
  public var entity: String
  /// Which objects are read, in the syntax of `NSPredicate` (docs/reference/expressions.md); nil
  /// for all.
  public var predicate: String?
  /// How many objects are read at most.
  public var limit: Int64 = 20
  /// Whether texts and bytes of up to 64 MiB are read whole.
  public var readsWhole = false
  /// Places to search for the store's model, besides the store itself.
  public var models: [FilePath] = []

  /// Names an entity of a store.
  public init(of entity: String, in store: FilePath) { (self.entity, self.store) = (entity, store) }

  /// What was read.
  public struct Outcome: Hashable, Sendable, Encodable {
    /// The number of objects of the entity and its subentities, independent of the predicate.
    public var total: Int64
    /// How many were read.
    public var shown: Int64
    /// Whether there are more that the predicate takes.
    public var hasMore: Bool
    /// Rows of the entity's table that are of no entity of the model.
    public var strays: [StoreInspection.Strays]

    /// The lines below the objects.
    public var lines: [String] {
      let rest = hasMore ? "; there are more: raise \(option: .limit)" : ""
      return ["\(CountText(shown, "object")) of \(GroupedText(total))\(rest)"] + strays.map(\.words)
    }
  }

  /// Calls a block with each object, until it returns false or there are no more.
  ///
  /// - Throws: `MigrationFailure`, if the store cannot be read, or the entity or a property of the
  ///   predicate does not exist; whatever the block throws.
  @discardableResult
  public func read(_ body: (Object) throws -> Bool) throws -> Outcome {
    try MigrationFailure.catching(around: body) { body in
      let held = try HeldStore(store, models: models)
      let entity = try held.entity(named: entity)
      let predicate = try predicate.map { try ObjectPredicate($0, of: entity, in: held.model).core }
      let contents = try held.contents()
      var outcome = Outcome(
        total: try contents.count(of: entity), shown: 0, hasMore: false,
        strays: try contents.strays(besides: entity).map { .init($0) })
      do {
        try contents.read(
          of: entity, where: predicate, extent: readsWhole ? .whole : .beginning,
          now: Date().timeIntervalSinceReferenceDate
        ) { object in
          if outcome.shown >= limit {
            outcome.hasMore = true
            return false
          }
          outcome.shown += 1
          return try body(Object(object))
        }
      } catch {
        throw ObjectPredicate.failure(error)
      }
      try held.access.requireUnchanged()
      return outcome
    }
  }
}

extension StoreObjects {
  /// A reference to an object.
  public struct Reference: Hashable, Sendable, Encodable {
    /// The entity of the object; that of the relationship where its own is not known.
    public var entity: String
    /// The key of its row (`Z_PK`).
    public var key: Int64
    /// What is wrong with the reference, as a part of a sentence; nil for nothing.
    public var fault: String?
  }

  /// A property with its value as people read it.
  public struct Property: Hashable, Sendable, Encodable {
    /// The name; of an element of a composite attribute with that of the composite: `author.id`.
    public var name: String
    /// The type of an attribute, `to one`, `to many` or `ordered to many`.
    public var type: String
    /// The value: of a text the beginning, of bytes the first in hexadecimal digits; nil for nil.
    public var text: String?
    /// The value of an attribute by its type, `.null` for nil; nil if it is faulty, was not read
    /// whole (``StoreObjects/readsWhole``), or belongs to a relationship.
    public var value: PropertyValue?
    /// How many bytes a text or binary value has.
    public var bytes: Int64?
    /// Whether the text is the beginning of a longer one.
    public var isCut: Bool
    /// The name of the external file that holds the value.
    public var file: String?
    /// What is wrong with the value, as a part of a sentence; nil for nothing.
    public var fault: String?
    /// How many objects a to-many relationship has.
    public var count: Int64?
    /// The object of a to-one relationship, or the first five of a to-many.
    public var references: [Reference]
    /// The value as `godwit inspect` shows it; line breaks of a text are in it.
    public var words: String

    private enum CodingKeys: CodingKey {
      case name, type, text, bytes, isCut, file, fault, count, references
    }
  }

  /// An object.
  public struct Object: Hashable, Sendable, Encodable {
    /// Its own entity, which may be a subentity of the requested one.
    public var entity: String
    /// The key of its row (`Z_PK`).
    public var key: Int64
    /// Its attributes and then its relationships, each by name; transient ones are left out.
    public var properties: [Property]

    /// The value of an attribute by its type, as in ``Property/value``; nil if there is no such
    /// attribute.
    public func value(_ name: String) -> PropertyValue? {
      properties.first { $0.name == name }?.value
    }

    /// The object as lines: its entity and key, and one for each property.
    public var lines: [String] {
      let width = min(24, properties.map(\.name.count).max() ?? 0)
      return ["\(entity)/\(key)"]
        + properties.map { property in
          let gap = String(repeating: " ", count: max(0, width - property.name.count))
          return "  \(property.name)\(gap)  \(property.words)"
        }
    }
  }
}

extension StoreObjects.Object {
  fileprivate init(_ object: InspectedObject) {
    (entity, key) = (object.entity, object.key)
    properties = object.properties.map { property in
      StoreObjects.Property(
        name: property.name, type: property.type, text: property.text,
        value: property.value.map { PropertyValue($0) }, bytes: property.bytes,
        isCut: property.isCut, file: property.file, fault: property.fault, count: property.count,
        references: property.references.map {
          .init(entity: $0.entity, key: $0.key, fault: $0.fault)
        }, words: property.words)
    }
  }
}
