package import MigrationEngine
import ObjectEngine
import PageEngine
package import Planning
import SQLEngine
import Survey

/// All engines; adding one takes a line here.
package enum EngineList {
  private static let all: [any MigrationEngine.Type] = [
    SQLEngine.self, PageEngine.self, ObjectEngine.self,
  ]

  /// The engine of a name; nil where no engine has it.
  package static func engine(named name: EngineName) -> (any MigrationEngine.Type)? {
    all.first { $0.name == name }
  }

  /// Stores below that size are migrated by SQL: pages gain less than the start of a process takes.
  private static let worthwhileBytes: Int64 = 8 << 20

  /// The engine that makes a stage, and why it is not the one that was wished for.
  ///
  /// - Parameter wish: the engine to take wherever it can; nil leaves the choice to the size of the
  ///   store.
  package static func choose(
    for stage: StageInput, wish: EngineName?
  ) -> (engine: any MigrationEngine.Type, refusal: String?) {
    if case .objects = stage.work { return (ObjectEngine.self, nil) }
    switch wish {
    case SQLEngine.name: return (SQLEngine.self, nil)
    case PageEngine.name:
      guard let refusal = PageEngine.refusal(of: stage) else { return (PageEngine.self, nil) }
      return (SQLEngine.self, refusal)
    default:
      let isLarge = stage.survey.access.fingerprint.bytes >= worthwhileBytes
      return isLarge && PageEngine.refusal(of: stage) == nil
        ? (PageEngine.self, nil) : (SQLEngine.self, nil)
    }
  }

  /// What the shards of a stage take, in tenths of the source, before the stage can be looked at.
  package static func shardTenths(byRows: Bool, sourceBytes: Int64, wish: EngineName?) -> Int64 {
    let isLarge = wish == PageEngine.name || (wish == nil && sourceBytes >= worthwhileBytes)
    return byRows && isLarge ? PageEngine.shardTenths : SQLEngine.shardTenths
  }
}
