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

  /// The engine that makes a stage.
  package struct Choice: Sendable {
    package var engine: any MigrationEngine.Type
    /// Why this one, as the end of a sentence.
    package var reason: String
    /// Why it is not the one that was wished for; nil where it is.
    package var refusal: String?
  }

  /// Chooses the engine of a stage.
  ///
  /// - Parameter wish: the engine to take wherever it can; nil leaves the choice to the size of the
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

  /// What the shards of a stage take, in tenths of the source, before the stage can be looked at.
  package static func shardTenths(byRows: Bool, sourceBytes: Int64, wish: EngineName?) -> Int64 {
    let isLarge =
      wish == PageEngine.name || (wish != SQLEngine.name && sourceBytes >= worthwhileBytes)
    return byRows && isLarge ? PageEngine.shardTenths : SQLEngine.shardTenths
  }
}
