import Expressions
import Mapping
import ObjectModel

/// Two versions of a small shop: customers with orders, and a log that nothing refers to.
enum ShopModels {
  static func model(_ change: (inout [Entity]) -> Void = { _ in }) throws -> ManagedObjectModel {
    var customer = Entity("Customer")
    customer.attributes = [Attribute(name: "name", type: .string)]
    customer.relationships = [
      Relationship(name: "orders", to: "Order", inverse: "customer", isToMany: true)
    ]
    var order = Entity("Order")
    order.attributes = [Attribute(name: "number", type: .integer64)]
    order.relationships = [Relationship(name: "customer", to: "Customer", inverse: "orders")]
    var log = Entity("Log")
    log.attributes = [Attribute(name: "text", type: .string)]
    var entities = [customer, log, order]
    change(&entities)
    return try ManagedObjectModel(entities: entities)
  }

  static func mapping() -> MappingModel {
    var customer = EntityMapping(
      name: "CustomerToCustomer", kind: .copy, source: "Customer", destination: "Customer")
    customer.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .source(name: "name"))
    ]
    customer.relationshipMappings = [
      PropertyMapping(
        name: "orders",
        valueExpression: .destinations(ofRelationship: "orders", mapping: "OrderToOrder"))
    ]
    var order = EntityMapping(
      name: "OrderToOrder", kind: .copy, source: "Order", destination: "Order")
    order.attributeMappings = [
      PropertyMapping(name: "number", valueExpression: .source(name: "number"))
    ]
    order.relationshipMappings = [
      PropertyMapping(name: "customer", valueExpression: .destinations(ofRelationship: "customer"))
    ]
    var log = EntityMapping(name: "LogToLog", kind: .copy, source: "Log", destination: "Log")
    log.attributeMappings = [PropertyMapping(name: "text", valueExpression: .source(name: "text"))]
    return MappingModel(entityMappings: [customer, log, order])
  }
}
