package import Mapping
package import ObjectModel
package import RowPrograms
package import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Whether and how a surveyed store can become one of the destination model.
package struct Assessment: Sendable {
  package let destination: StoreSchema
  package let mapping: MappingModel
  /// nil where hindrances keep it from being made.
  package let program: MigrationProgram?
  package let hindrances: [Hindrance]
  package let losses: [Loss]
  /// What expressions and policies of a mapping model compute; nil where the mapping is inferred.
  package let calls: RowCalls?

  /// Infers the mapping and holds its demands against the store; writes nothing.
  package init(_ survey: StoreSurvey, to model: ManagedObjectModel) throws {
    calls = nil
    destination = try StoreSchema(model)
    let inference = MappingInference(from: survey.model, to: model)
    mapping = inference.mapping
    var hindrances = inference.obstacles.map {
      Hindrance(
        reason: .obstacle($0.reason), entity: $0.entity, property: $0.property, code: $0.code)
    }
    var program: MigrationProgram?
    do {
      program = try ProgramCompiler(
        mapping: mapping, source: survey.schema, destination: destination
      ).compile()
    } catch {
      hindrances += error.places.map {
        Hindrance(
          reason: .relationshipForm, entity: $0.entity, property: $0.property,
          code: .inferredMappingModel)
      }
    }
    let checker = ConditionChecker(survey: survey, destination: destination, mapping: mapping)
    for condition in inference.conditions {
      if let hindrance = try checker.check(condition) { hindrances.append(hindrance) }
    }
    if let program { hindrances += try checker.missingExternalFiles(program) }
    self.program = hindrances.isEmpty ? program : nil
    self.hindrances = hindrances
    losses = try inference.possibleLosses.compactMap { try checker.loss($0) }
  }

  /// Holds the demands of a given mapping model, whose objects depend on nothing but their source
  /// objects, against the store; throws `CompileError` where it does not fit the store's tables.
  init(
    _ survey: StoreSurvey, to model: ManagedObjectModel, by mapping: MappingModel,
    _ calls: RowCalls
  ) throws {
    self.calls = calls
    self.mapping = mapping
    destination = try StoreSchema(model)
    let program = try ProgramCompiler(
      mapping: mapping, source: survey.schema, destination: destination, calls: calls
    ).compile()
    let checker = ConditionChecker(survey: survey, destination: destination, mapping: mapping)
    hindrances =
      try calls.conditions.compactMap { try checker.check($0) }
      + checker.missingExternalFiles(program)
    self.program = hindrances.isEmpty ? program : nil
    losses = try calls.possibleLosses.compactMap { try checker.loss($0) }
  }
}
