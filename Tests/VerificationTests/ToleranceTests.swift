import Mapping
import TestSupport
import Testing

@testable import Verification

@Suite(.scratchFolder) struct ToleranceTests {
  /// Verifies as after a mapping model that says what inference says.
  private func verify(_ given: GivenStores) throws -> VerificationReport {
    let (from, to) = (GivenStores.before, GivenStores.after)
    let mapping = MappingInference(from: from, to: to).mapping
    return try given.verify {
      $0.steps = [.init(source: from, destination: to, mappings: [mapping])]
    }
  }

  @Test func `what a mapping model says by inference is judged alike`() throws {
    let report = try verify(GivenStores())
    #expect(report.differences == [])
  }

  @Test func `a pair that leads nowhere may stay after a mapping model, and may not come`() throws {
    let given = try GivenStores()
    try given.change("INSERT INTO Z_1TAGS VALUES (1, 99)", old: true)
    #expect(try verify(given).differences == [])
    try given.change("INSERT INTO Z_2TAGS VALUES (1, 99)")
    #expect(try verify(given).differences == [])
    try given.change("INSERT INTO Z_2TAGS VALUES (2, 99)")
    #expect(try verify(given).counts == [.pairExtra: 1])
  }

  @Test func `a reference that leads nowhere may stay after a mapping model`() throws {
    let given = try GivenStores()
    try given.change("UPDATE ZBOOK SET ZWRITER = 77 WHERE Z_PK = 10", old: true)
    try given.change("UPDATE ZBOOK SET ZWRITER = 77 WHERE Z_PK = 10")
    #expect(try verify(given).differences == [])
    try given.change("UPDATE ZBOOK SET ZWRITER = 78 WHERE Z_PK = 10")
    #expect(try verify(given).counts == [.reference: 1])
  }
}
