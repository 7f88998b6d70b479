package import MigrationEngine
import ObjectEngine
import PageEngine
package import Planning
import SQLEngine
import Survey

/// The engines and the choice among them; a new engine is added to `all`.
package enum EngineList {
  private static let all: [any MigrationEngine.Type] = [
    SQLEngine.self, PageEngine.self, ObjectEngine.self,
  ]

  /// The engine with a name, nil if there is none.
  package static func engine(named name: EngineName) -> (any MigrationEngine.Type)? {
    all.first { $0.name == name }
  }

  /// The size of a store from which pages are worth it; below, starting processes takes longer than
  /// pages save.
  private static let worthwhileBytes: Int64 = 8 << 20

  /// The engine for a stage, and why.
  package struct Choice: Sendable {
    /// The type of the engine.
    package var engine: any MigrationEngine.Type
    /// Why it was chosen, as the end of a sentence.
    package var reason: String
    /// Why the page engine was not used although it was asked for, nil otherwise.
    package var refusal: String?
  }

  /// Chooses the engine of a stage.
  ///
  /// - Parameter wish: the engine to prefer if it covers the stage; nil decides by the size of the
  ///   store.
  package static func choose(for stage: StageInput, wish: EngineName?) -> Choice {
    if case .objects = stage.work {
      return Choice(
        engine: ObjectEngine.self,
        reason: wish == ObjectEngine.name
          ? "it was asked for"
          : "a mapping model computes, splits or joins objects, or names a policy")
    }
    let refusal = PageEngine.refusal(of: stage)
    switch wish {
    case SQLEngine.name: return Choice(engine: SQLEngine.self, reason: "it was asked for")
    case PageEngine.name:
      guard let refusal else {
        return Choice(engine: PageEngine.self, reason: "it was asked for")
      }
      return Choice(engine: SQLEngine.self, reason: refusal, refusal: refusal)
    default:
      let isLarge = stage.survey.access.fingerprint.bytes >= worthwhileBytes
      guard isLarge, refusal == nil else {
        return Choice(engine: SQLEngine.self, reason: refusal ?? "the store is small")
      }
      return Choice(engine: PageEngine.self, reason: "the store is large")
    }
  }

  /// The size of a stage's shards in tenths of the source, estimated before the stage is assessed.
  package static func shardTenths(byRows: Bool, sourceBytes: Int64, wish: EngineName?) -> Int64 {
    let isLarge =
      wish == PageEngine.name || (wish != SQLEngine.name && sourceBytes >= worthwhileBytes)
    return byRows && isLarge ? PageEngine.shardTenths : SQLEngine.shardTenths
  }
}
