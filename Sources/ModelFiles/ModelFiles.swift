package import ObjectModel
package struct NotYet: Error {}
package enum CompiledModel {
  package static func decode(_ bytes: [UInt8]) throws -> ManagedObjectModel { throw NotYet() }
}
