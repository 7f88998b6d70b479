import Mapping
import RowPrograms
import Schema
import Survey

extension StoreSchema {
  /// Gives triggers the form that they have in a store, and takes over those of open derivations.
  ///
  /// - Parameters:
  ///   - tables: the programs of the tables.
  ///   - steps: for each step, why a derived attribute does not keep its values.
  /// - Returns: what stands against them.
  mutating func takeTriggers(
    of source: StoreSchema, by tables: [TableProgram],
    obstacles steps: [(OpenDerivation) throws -> Refusal?]
  ) throws -> [Refusal] {
    try takeTriggers(of: source, obstacles: steps) { $0.openTriggers(tables: tables) }
  }

  /// The same where the mapping models of one step make objects one by one.
  mutating func takeTriggers(
    of survey: StoreSurvey, by mappings: [MappingModel]
  ) throws -> [Refusal] {
    let kept = KeptDerivations(mappings, from: survey.model, to: model)
    let obstacle = RowView(of: survey).derivations(kept, reader: survey.reader)
    return try takeTriggers(of: survey.schema, obstacles: [obstacle]) { compiler in
      compiler.openTriggers { open in
        kept.origins(of: open.attribute, in: open.entity)?.map {
          OpenDerivation(entity: $0.entity, attribute: $0.attribute)
        }
      }
    }
  }

  private mutating func takeTriggers(
    of source: StoreSchema, obstacles steps: [(OpenDerivation) throws -> Refusal?],
    open: (DerivedCompiler) -> (kept: [Trigger], [DerivedCompiler.Obstacle])
  ) throws -> [Refusal] {
    var unknown: [Refusal] = []
    for place in derived.indices {
      let attribute = derived[place]
      let before = source.derived.first {
        $0.entity == attribute.entity && $0.attribute == attribute.attribute
      }
      derived[place].namesNumbers = before?.namesNumbers == true
      let isKept = before.map { !source.knowsTriggers(of: $0) } ?? false
      if !isKept, !knowsTriggers(of: attribute) {
        unknown.append(
          Refusal(
            reason: .derivationCannotBeComputed, entity: attribute.entity,
            property: attribute.attribute))
      }
    }
    let (kept, obstacles) = open(DerivedCompiler(source: source, destination: self))
    keptTriggers = kept
    return try unknown
      + openDerivations.compactMap { open in
        let obstacle = obstacles.first { $0.attribute == open }
        if let trigger = obstacle?.trigger {
          return Refusal(
            reason: .triggerCannotBeKept(trigger), entity: open.entity, property: open.attribute)
        }
        for step in steps { if let refusal = try step(open) { return refusal } }
        return obstacle.map { _ in
          Refusal(
            reason: .derivationCannotBeComputed, entity: open.entity, property: open.attribute)
        }
      }
  }
}
