package import Mapping
package import ObjectModel
import RowPrograms
package import Schema

/// What keeps a step between two versions from being inferred, as far as the models show it.
package enum InferredStep {
  private static let recent = RecentPairs<[Refusal]>()

  /// The reasons, of inference or of compiling what it inferred; none where the step is possible.
  package static func refusals(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [Refusal] {
    recent.value(from: source, to: destination) { found(from: source, to: destination) }
  }

  private static func found(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [Refusal] {
    let inference = MappingInference(from: source, to: destination)
    if !inference.refusals.isEmpty { return inference.refusals }
    do {
      _ = try ProgramCompiler(
        mapping: inference.mapping, source: StoreSchema(source),
        destination: StoreSchema(destination)
      ).compile()
      return []
    } catch let error as CompileError {
      return error.places.map {
        Refusal(reason: .relationshipForm, entity: $0.entity, property: $0.property)
      }
    } catch let error as SchemaError {
      return error.places.map {
        Refusal(reason: .storedFormUnknown($0.type.name), entity: $0.entity, property: $0.property)
      } + error.tableRefusals
    } catch {
      preconditionFailure("nothing else is thrown by compiling: \(error)")
    }
  }
}

extension SchemaError {
  /// The tables that cannot be made, as refusals of a migration to the model.
  package var tableRefusals: [Refusal] {
    wide.map { Refusal(reason: .tableTooWide(columns: $0.columns), entity: $0.entity) }
      + clashes.map {
        Refusal(reason: .tableNameTaken($0.table, by: $0.owners), entity: $0.owners[0])
      }
  }
}
