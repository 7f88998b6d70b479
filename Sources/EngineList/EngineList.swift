import CloneEngine
package import MigrationEngine
import ObjectEngine
package import ObjectMigration
import PageEngine
package import Planning
import SQLEngine
import StoreFormat
package import Survey

/// The engines and the choice among them; a new engine is added to `all`.
package enum EngineList {
  private static let all: [any MigrationEngine.Type] = [
    SQLEngine.self, PageEngine.self, CloneEngine.self, EditEngine.self, ObjectEngine.self,
  ]
  /// The engine that covers all rows, and is used where no other one is chosen.
  package static let standard: any MigrationEngine.Type = SQLEngine.self

  /// The names of all engines, which `--engine` takes.
  package static var names: [EngineName] { all.map { $0.name } }

  /// The engine with a name, nil if there is none.
  package static func engine(named name: EngineName) -> (any MigrationEngine.Type)? {
    all.first { $0.name == name }
  }

  /// The engine for a stage, and why.
  package struct Choice: Sendable {
    /// The type of the engine.
    package var engine: any MigrationEngine.Type
    /// Why it was chosen, as the end of a sentence.
    package var reason: String
    /// Why the requested engine was not used, nil otherwise.
    package var refusal: String?
  }

  /// Chooses the engine of a stage.
  ///
  /// - Parameter wish: the engine to prefer if it covers the stage; nil for the fastest that does.
  package static func choose(for stage: StageInput, wish: EngineName?) -> Choice {
    if case .objects(_, let fallback) = stage.work {
      let reason = fallback?.words ?? "it was requested"
      return Choice(
        engine: ObjectEngine.self, reason: reason,
        refusal: rowEngine(wish: wish) == nil ? nil : reason)
    }
    if let wanted = rowEngine(wish: wish) {
      guard let refusal = wanted.refusal(of: stage) else {
        return Choice(engine: wanted, reason: "it was requested")
      }
      if wanted.name == EditEngine.name {
        // A request for the least time and space gets the next best engine.
        var choice = chooseFastest(for: stage)
        choice.refusal = refusal
        return choice
      }
      return Choice(engine: standard, reason: refusal, refusal: refusal)
    }
    return chooseFastest(for: stage)
  }

  private static func chooseFastest(for stage: StageInput) -> Choice {
    if CloneEngine.isWorthwhile(for: stage) {
      return Choice(
        engine: CloneEngine.self,
        reason: "most of the store stays unchanged, and the file system shares its blocks")
    }
    if let refusal = PageEngine.refusal(of: stage) {
      return Choice(engine: standard, reason: refusal)
    }
    return Choice(engine: PageEngine.self, reason: "that is the fastest")
  }

  /// The engine that edits the store itself; nil where it would be declined.
  package static func editor(for stage: StageInput) -> (any MigrationEngine.Type)? {
    EditEngine.refusal(of: stage) == nil ? EditEngine.self : nil
  }

  /// The requested engine for rows; nil leaves the choice.
  private static func rowEngine(wish: EngineName?) -> (any MigrationEngine.Type)? {
    wish.flatMap { makesObjects(wish: $0) ? nil : engine(named: $0) }
  }

  /// Whether mapping models have to run object by object, even if rows would suffice.
  package static func makesObjects(wish: EngineName?) -> Bool { wish == ObjectEngine.name }

  /// Whether the store itself is to be edited, without another one in its place.
  package static func edits(wish: EngineName?) -> Bool { wish == EditEngine.name }

  /// What finds the rows that filters take by the pages of a store; nil where SQLite has to.
  package static func filterPages(of survey: StoreSurvey) -> (any FilterPages)? {
    guard let file = try? SourceFile(survey.access.readable) else { return nil }
    return FilterCursors(file, textEncoding: survey.header.textEncoding)
  }

  /// The size of a stage's shards in tenths of the source, estimated before the stage is assessed.
  package static func shardTenths(byRows: Bool, wish: EngineName?) -> Int64 {
    byRows ? (rowEngine(wish: wish) ?? PageEngine.self).shardTenths : ObjectEngine.shardTenths
  }
}
