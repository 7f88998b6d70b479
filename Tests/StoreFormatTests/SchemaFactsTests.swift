import GRDB
import StoreFormat
import Testing

@Suite struct SchemaFactsTests {
  private func facts(_ statements: [String]) throws -> SchemaFacts {
    try DatabaseQueue().write { db in
      for statement in statements { try db.execute(sql: statement) }
      return try SchemaFacts.of(in: db)
    }
  }

  @Test func `databases of one schema share answers, whatever their rows`() throws {
    let one = try facts(["CREATE TABLE shared (a)", "INSERT INTO shared VALUES (1)"])
    let other = try facts(["CREATE TABLE shared (a)"])
    #expect(one === other)
    #expect(one.answer("columns") { 1 } == 1)
    #expect(other.answer("columns") { 2 } == 1)
  }

  @Test(arguments: [
    ["CREATE TABLE t (A)"], ["CREATE TABLE t (a )"],
    ["CREATE TABLE t (a)", "CREATE INDEX i ON t(a)"],
    ["CREATE TABLE u (a)", "CREATE TABLE t (a)", "DROP TABLE u"],
    ["CREATE TABLE t (a)", "CREATE TRIGGER r AFTER DELETE ON t BEGIN SELECT 1; END"],
  ])
  func `a schema with another byte or root page has answers of its own`(
    statements: [String]
  ) throws {
    #expect(try facts(statements) !== facts(["CREATE TABLE t (a)"]))
  }

  @Test func `names that only look alike are different schemas`() throws {
    let (composed, decomposed) = ("CREATE TABLE \"\u{E9}\" (a)", "CREATE TABLE \"e\u{301}\" (a)")
    #expect(composed == decomposed)
    #expect(try facts([composed]) !== facts([decomposed]))
  }

  @Test func `an answer is found once, also where it is nil`() throws {
    let facts = try facts(["CREATE TABLE once (a)"])
    var searches = 0
    for _ in 0..<3 {
      let answer: Int? = facts.answer("missing") {
        searches += 1
        return nil
      }
      #expect(answer == nil)
    }
    #expect(searches == 1)
  }

  @Test func `an answer that cannot be found is searched for again`() throws {
    struct Failure: Error {}
    let facts = try facts(["CREATE TABLE failing (a)"])
    #expect(throws: Failure.self) {
      try facts.answer("fails") { () throws -> Int in throw Failure() }
    }
    #expect(facts.answer("fails") { 3 } == 3)
  }
}
