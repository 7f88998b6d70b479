import Expressions
import Mapping
import ObjectModel

/// Two versions of a small shop: customers with orders, and a log that nothing refers to.
enum ShopModels {
  static func model(_ change: (inout [Entity]) -> Void = { _ in }) throws -> ManagedObjectModel {
    var customer = Entity("Customer")
    customer.attributes = [Attribute("name", .string)]
    customer.relationships = [
      Relationship("orders", to: "Order", inverse: "customer", isToMany: true)
    ]
    var order = Entity("Order")
    order.attributes = [Attribute("number", .integer64)]
    order.relationships = [Relationship("customer", to: "Customer", inverse: "orders")]
    var log = Entity("Log")
    log.attributes = [Attribute("text", .string)]
    var entities = [customer, log, order]
    change(&entities)
    return try ManagedObjectModel(entities: entities)
  }

  static func mapping() -> MappingModel {
    var customer = EntityMapping(
      name: "CustomerToCustomer", kind: .copy, source: "Customer", destination: "Customer")
    customer.attributeMappings = [PropertyMapping("name", .source("name"))]
    customer.relationshipMappings = [
      PropertyMapping("orders", .destinations(ofRelationship: "orders", mapping: "OrderToOrder"))
    ]
    var order = EntityMapping(
      name: "OrderToOrder", kind: .copy, source: "Order", destination: "Order")
    order.attributeMappings = [PropertyMapping("number", .source("number"))]
    order.relationshipMappings = [
      PropertyMapping("customer", .destinations(ofRelationship: "customer"))
    ]
    var log = EntityMapping(name: "LogToLog", kind: .copy, source: "Log", destination: "Log")
    log.attributeMappings = [PropertyMapping("text", .source("text"))]
    return MappingModel(entityMappings: [customer, log, order])
  }
}
