import ObjectModel
import Schema

/// Everything that is needed to write the rows of one table.
struct TablePlan: Sendable {
  /// The origin of a column's value, for one entity.
  enum Cell: Sendable {
    case null
    case key
    case entityNumber
    case optimisticLock
    /// The index of the column in the table; one object in `fileEvery` has an external file, none
    /// if that is 0.
    case attribute(Int, fileEvery: Int64)
    case linkKey(Int)
    case linkNumber(Int)
    case linkOrder(Int)
  }

  struct EntityPlan: Sendable {
    var number: Int64
    var cells: [Cell]
    /// The links that the entity has, and its position among the sources of each.
    var links: [(link: Int, member: Int)]
  }

  let table: EntityTable
  let keys: TableKeys
  let salt: UInt64
  /// By the index of the column in the table; nil for other columns.
  var attributes: [AttributeColumn?]
  var links: [Link] = []
  var entities: [EntityPlan] = []
  /// Statements that fill columns computed from other rows.
  var updates: [String] = []

  var insertStatement: String {
    let names = table.columns.map { SQL.identifier(name: $0.name) }.joined(separator: ", ")
    let values = table.columns.map { _ in "?" }.joined(separator: ", ")
    return "INSERT INTO \(SQL.identifier(name: table.name)) (\(names)) VALUES (\(values))"
  }
}

/// Makes the plans of all tables.
struct TablePlanner {
  let schema: StoreSchema
  let allocation: KeyAllocation
  let seed: UInt64
  private(set) var notes: [GenerationReport.Note] = []
  private var linker: Linker
  /// External files that may still be planned for each column.
  private var filesPerColumn: Int64

  /// The most external files, which together stay below 20 MB.
  private static let mostFiles: Int64 = 120
  private static let leastRowsPerFile: Int64 = 50

  init(schema: StoreSchema, allocation: KeyAllocation, seed: UInt64) {
    self.schema = schema
    self.allocation = allocation
    self.seed = seed
    linker = Linker(schema: schema, allocation: allocation, seed: seed)
    let columns = allocation.concretes.reduce(into: Int64(0)) { count, concrete in
      guard let entity = schema.model.entity(name: concrete.name) else { return }
      count += Int64(
        schema.model.allLeafAttributes(of: entity).filter {
          $0.storesBinaryDataExternally && !$0.isTransient
        }.count)
    }
    filesPerColumn = Self.mostFiles / max(1, columns)
  }

  mutating func plans() throws(GenerationError) -> [TablePlan] {
    var result: [TablePlan] = []
    for index in schema.tables.indices { result.append(try plan(index: index)) }
    notes += linker.notes
    return result
  }

  func joinPlans() -> [JoinPlan] {
    schema.joinTables.compactMap { JoinPlan(table: $0, linker: linker) }
  }

  private mutating func plan(index: Int) throws(GenerationError) -> TablePlan {
    let table = schema.tables[index]
    var plan = TablePlan(
      table: table, keys: allocation.tables[index],
      salt: Mixing.salt(seed, parts: table.rootName, "rows"),
      attributes: table.columns.map { _ in nil })
    planAttributes(of: table, plan: &plan)
    let forms = Dictionary(
      uniqueKeysWithValues: zip(table.columns, plan.attributes).compactMap { column, attribute in
        attribute.map { (column.name, $0) }
      })
    let uniqueness = try Uniqueness(
      of: table, indexes: schema.indexes, forms: forms, maximumKey: plan.keys.maximumKey,
      model: schema.model)
    notes += uniqueness.notes
    for (place, column) in table.columns.enumerated() {
      plan.attributes[place]?.digit = uniqueness.digits[column.name]
      if uniqueness.emptied.contains(column.name) { plan.attributes[place]?.form = .empty }
    }
    let linkOfColumn = planLinks(of: table, uniqueness: uniqueness, plan: &plan)
    for concrete in allocation.concretes where concrete.table == index {
      plan.entities.append(entityPlan(concrete: concrete, linkOfColumn: linkOfColumn, plan: plan))
    }
    return plan
  }

  private mutating func planAttributes(of table: EntityTable, plan: inout TablePlan) {
    for (place, column) in table.columns.enumerated() {
      guard case .attribute(let entity, let name) = column.role,
        let attribute = schema.model.entity(name: entity)?.leafAttributes.first(where: {
          $0.name == name
        })
      else { continue }
      var form = ValueForm.empty
      if let derivation = attribute.derivation {
        switch Derivations(schema: schema).plan(derivation: derivation, of: entity, in: table) {
        case .form(let derived): form = derived
        case .expression(let sql):
          plan.updates.append(update(column, of: entity, in: table, expression: sql))
        case nil:
          notes.append(.init(entity: entity, property: name, reason: .derivationNotComputed))
        }
      } else {
        form = ValueForm(attribute)
        if attribute.limits.pattern != nil || !attribute.limits.others.isEmpty {
          notes.append(.init(entity: entity, property: name, reason: .validationNotHonoured))
        }
      }
      plan.attributes[place] = AttributeColumn(
        form: form, isOptional: attribute.isOptional && attribute.derivation == nil,
        salt: Mixing.salt(seed, parts: entity, name))
    }
  }

  private func update(
    _ column: Column, of entity: String, in table: EntityTable, expression: String
  ) -> String {
    let numbers = schema.model.family(of: entity).compactMap { schema.numbers[$0.name]?.rawValue }
    return
      "UPDATE \(SQL.identifier(name: table.name)) SET \(SQL.identifier(name: column.name)) = \(expression)"
      + " WHERE Z_ENT IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }

  /// The link of each to-one or owner column, which its entity and order columns share.
  private mutating func planLinks(
    of table: EntityTable, uniqueness: Uniqueness, plan: inout TablePlan
  ) -> [Column.Role: Int] {
    var result: [Column.Role: Int] = [:]
    for column in table.columns {
      let link: Link?
      switch column.role {
      case .toOne(let entity, let name):
        link = linker.toOne(
          entity: entity, name: name, isUnique: uniqueness.unshared.contains(column.name))
      case .owner(let entity, let name): link = linker.owner(entity: entity, name: name)
      default: continue
      }
      guard let link else { continue }
      result[column.role] = plan.links.count
      plan.links.append(link)
    }
    return result
  }

  private func entityPlan(
    concrete: KeyAllocation.Concrete, linkOfColumn: [Column.Role: Int], plan: TablePlan
  ) -> TablePlan.EntityPlan {
    var links: [(link: Int, member: Int)] = []
    for (index, link) in plan.links.enumerated() {
      if let member = link.sources.member(slot: concrete.slot) { links.append((index, member)) }
    }
    let own = Set(links.map(\.link))
    func link(role: Column.Role) -> Int? {
      linkOfColumn[role].flatMap { own.contains($0) ? $0 : nil }
    }
    let cells = plan.table.columns.enumerated().map { place, column -> TablePlan.Cell in
      switch column.role {
      case .primaryKey: return .key
      case .entityNumber: return .entityNumber
      case .optimisticLock: return .optimisticLock
      case .attribute(let entity, let name):
        guard schema.model.declarer(of: name, in: concrete.name) == entity else { return .null }
        return .attribute(place, fileEvery: fileEvery(plan.attributes[place], concrete: concrete))
      case .toOne, .owner: return link(role: column.role).map { .linkKey($0) } ?? .null
      case .toOneEntity(let entity, let name):
        return link(role: .toOne(entity: entity, name: name)).map { .linkNumber($0) } ?? .null
      case .toOneOrder(let entity, let name):
        return link(role: .toOne(entity: entity, name: name)).map { .linkOrder($0) } ?? .null
      case .ownerOrder(let entity, let name):
        return link(role: .owner(entity: entity, name: name)).map { .linkOrder($0) } ?? .null
      }
    }
    return TablePlan.EntityPlan(number: concrete.number, cells: cells, links: links)
  }

  private func fileEvery(_ column: AttributeColumn?, concrete: KeyAllocation.Concrete) -> Int64 {
    guard case .blob(isTagged: true)? = column?.form, filesPerColumn > 0 else { return 0 }
    return max(
      Self.leastRowsPerFile, (concrete.count + filesPerColumn - 1) / filesPerColumn)
  }
}
