import KeyedArchives

/// The classes in archives of models, with their superclasses.
enum ArchivedClass {
  typealias Class = KeyedArchiveWriter.Class

  static let model = Class("NSManagedObjectModel", "NSObject")
  static let entity = Class("NSEntityDescription", "NSObject")
  static let attribute = Class("NSAttributeDescription", "NSPropertyDescription", "NSObject")
  static let derivedAttribute = Class(
    "NSDerivedAttributeDescription", "NSAttributeDescription", "NSPropertyDescription", "NSObject")
  static let compositeAttribute = Class(
    "NSCompositeAttributeDescription", "NSAttributeDescription", "NSPropertyDescription", "NSObject"
  )
  static let relationship = Class("NSRelationshipDescription", "NSPropertyDescription", "NSObject")
  static let fetchedProperty = Class(
    "NSFetchedPropertyDescription", "NSPropertyDescription", "NSObject")
  static let expression = Class("NSExpressionDescription", "NSPropertyDescription", "NSObject")
  static let fetchRequest = Class("NSFetchRequest", "NSPersistentStoreRequest", "NSObject")
  static let fetchIndex = Class("NSFetchIndexDescription", "NSObject")
  static let fetchIndexElement = Class("NSFetchIndexElementDescription", "NSObject")
  static let array = Class("NSArray", "NSObject")
  static let mutableArray = Class("NSMutableArray", "NSArray", "NSObject")
  static let set = Class("NSSet", "NSObject")
  static let dictionary = Class("NSDictionary", "NSObject")
  static let mutableDictionary = Class("NSMutableDictionary", "NSDictionary", "NSObject")
  static let knownKeysDictionary = Class(
    "NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary",
    "NSObject")
  static let knownKeysStrategy = Class(
    "NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy", "NSObject")
}
