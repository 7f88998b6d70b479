import Mapping
import Planning
import RowPrograms
import Schema

/// Cuts a route into stages.
struct StagePlanner {
  private(set) var stages: [Stage] = []
  private var open: [RowStep] = []
  private var composed: MigrationProgram?
  private var cut: Stage.Cut?
  /// Whether choices repair the rows with which a stage begins.
  private let repairs: Bool

  /// Cuts a route.
  ///
  /// - Parameters:
  ///   - source: the tables under the names in the store.
  ///   - isStepwise: makes each step a stage.
  ///   - independentPolicies: policies that declare their objects independent; nil executes all
  ///     mapping models object by object.
  ///   - allowsFilters: whether mapping models with filters may go by rows.
  ///   - validates: whether an object without a mandatory value ends the migration.
  ///   - choices: how stores are repaired with which stages begin.
  ///   - joins: what is known of the names of join tables.
  init(
    route: MigrationRoute, source: StoreSchema, isStepwise: Bool,
    independentPolicies: Set<String>?, allowsFilters: Bool, validates: Bool = true,
    choices: DefectChoices = DefectChoices(), joins: JoinChoices
  ) throws {
    repairs = choices.asksDemands
    var (schema, joins) = (source, joins)
    for given in route.steps {
      let step = given.completingCopies()
      var fallback: RowFallback?
      do {
        if let next = try Self.rows(
          step, source: schema, independentPolicies: independentPolicies,
          allowsFilters: allowsFilters, validates: validates, joins: joins)
        {
          (schema, joins.assumed) = (next.destination, next.joinChoices)
          add(next, isStepwise: isStepwise)
          continue
        }
      } catch let error as RowFallback {
        fallback = error
      }
      let made = try joins.destination(
        of: step, by: step.mappings.map(\.mapping), from: schema)
      close(before: .mappingModel)
      if stages.isEmpty { cut = nil }
      stages.append(Stage(method: .objects(step, because: fallback), cut: cut, joins: joins))
      (schema, joins.assumed) = (made.schema, made.choices)
      cut = .mappingModel
    }
    close(before: nil)
  }

  /// A step by rows; nil where mapping models are to be executed object by object.
  ///
  /// - Throws: `RowFallback`, where they have to be.
  private static func rows(
    _ step: MigrationRoute.Step, source: StoreSchema, independentPolicies: Set<String>?,
    allowsFilters: Bool, validates: Bool, joins: JoinChoices
  ) throws -> RowStep? {
    if step.mappings.isEmpty { return try RowStep(step: step, source: source, joins: joins) }
    return try independentPolicies.map {
      try RowStep(
        step: step, source: source, independentPolicies: $0, allowsFilters: allowsFilters,
        validates: validates, joins: joins)
    }
  }

  private mutating func add(_ next: RowStep, isStepwise: Bool) {
    if !open.isEmpty {
      if isStepwise {
        close(before: .stepwise)
      } else if next.needsStore || open.contains(where: \.needsStore) || isRepairedApart(next) {
        close(before: .mappingModel)
      } else if let before = composed, let program = next.program,
        !readsDerived(next, before: before),
        let both = ProgramComposer(first: before, then: program, destination: next.destination)
          .compose()
      {
        open.append(next)
        composed = both
        return
      } else {
        close(before: .notComposable)
      }
    }
    open = [next]
    composed = next.program
  }

  /// Whether choices may repair values that steps before give to all rows: only a store between has
  /// them, and object by object a mapping model always makes one.
  private func isRepairedApart(_ next: RowStep) -> Bool {
    repairs && ([next] + open).contains { $0.calls != nil } && open.contains(where: \.hasConstants)
  }

  /// Whether a step makes something else than the same derived attribute of one whose values are
  /// computed only once all rows of the steps before it are together.
  private func readsDerived(_ next: RowStep, before: MigrationProgram) -> Bool {
    guard let first = open.first, let last = open.last, let program = next.program else {
      return false
    }
    let computed = DerivedCompiler(source: first.source, destination: last.destination)
      .recomputed(tables: before.tables)
    let derived = Set(next.destination.derived.map { Place(table: $0.table, column: $0.column) })
    return program.tables.contains { table in
      let read = Set(computed.filter { $0.table == table.sourceTable }.map(\.column))
      return !read.isEmpty
        && table.columns.contains { column in
          !derived.contains(Place(table: table.destinationTable, column: column.name))
            && column.operations.contains { $0.attributeColumn.map(read.contains) ?? false }
        }
    }
  }

  private struct Place: Hashable {
    var table: String
    var column: String
  }

  private mutating func close(before next: Stage.Cut?) {
    if !open.isEmpty {
      stages.append(Stage(method: .rows(open), cut: cut, joins: open[0].joins))
      cut = next
    }
    (open, composed) = ([], nil)
  }
}

extension MigrationRoute.Step {
  /// The step whose mappings of type copy have all property mappings that the type implies.
  fileprivate func completingCopies() -> Self {
    var result = self
    for index in mappings.indices {
      result.mappings[index].mapping = mappings[index].mapping.completingCopies(
        from: source.model, to: destination.model)
    }
    return result
  }
}
