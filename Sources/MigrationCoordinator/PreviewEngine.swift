import EngineList
import MigrationEngine
import Survey

extension MigrationPreview {
  /// What would write the rows of the first stage, and why that; nil where nothing would.
  package var engine: (kind: MigrationRequest.Engine, reason: String)? {
    guard isNeeded, let assessment else { return nil }
    let (request, wasAskedFor) = (prepared.request, "it was asked for")
    guard assessment.rows != nil else {
      let reason = "a mapping model computes, splits or joins objects, or names a policy"
      return (.objects, request.engine == .objects ? wasAskedFor : reason)
    }
    guard assessment.work != nil else { return nil }
    if writesPages {
      return (.pages, request.engine == .pages ? wasAskedFor : "the store is large")
    }
    if request.engine == .sql { return (.sql, wasAskedFor) }
    let input = StageInput(request, survey, assessment)
    let refusal = EngineList.choose(for: input, wish: MigrationRequest.Engine.pages.wish).refusal
    return (.sql, refusal ?? "the store is small")
  }
}
