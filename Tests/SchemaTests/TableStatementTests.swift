import Schema
import Testing

@Suite struct TableStatementTests {
  @Test(arguments: [
    "CREATE TABLE ZITEM ( Z_PK INTEGER PRIMARY KEY, ZWITHOUTTAX FLOAT, ZCOLLATERAL VARCHAR )",
    "CREATE TABLE \"WITHOUT\" (Z_PK INTEGER PRIMARY KEY, \"COLLATE\" VARCHAR)",
    "CREATE TABLE [a WITHOUT b] (`COLLATE` VARCHAR, [COLLATE] VARCHAR)",
    "CREATE TABLE t (\"a\"\" COLLATE \" VARCHAR, b VARCHAR DEFAULT 'it''s WITHOUT COLLATE')",
    "CREATE TABLE t (without INTEGER, collated VARCHAR, x_COLLATE VARCHAR, COLLATE_x VARCHAR)",
    "CREATE TABLE t (a VARCHAR /* COLLATE NOCASE */, b INTEGER) -- WITHOUT ROWID",
    "CREATE TABLE t (a INTEGER -- ) COLLATE\n, b INTEGER)", "CREATE TABLE t (é INTEGER /* WITHOUT",
    "", "\"", "/*",
  ])
  func `a word in a name, a text or a comment says nothing of the table`(_ sql: String) {
    let statement = TableStatement(sql)
    #expect(!statement.isWithoutRowNumbers)
    #expect(!statement.hasCollations)
  }

  @Test(arguments: [
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b (20)) WITHOUT ROWID",
    "create table \"t\" (a integer primary key, primary key (a))without\nrowid, strict",
    "CREATE TABLE t (\")\" INTEGER PRIMARY KEY) STRICT, /* x */ WITHOUT rowid",
  ])
  func `a table without row numbers is found`(_ sql: String) {
    #expect(TableStatement(sql).isWithoutRowNumbers)
    #expect(!TableStatement(sql).hasCollations)
  }

  @Test(arguments: [
    "CREATE TABLE t (a VARCHAR COLLATE NOCASE)",
    "CREATE TABLE t (\"COLLATE\" VARCHAR collate rtrim)",
    "CREATE TABLE t (a VARCHAR COLLATE\"NOCASE\", without INTEGER)",
  ])
  func `a collation is found`(_ sql: String) {
    #expect(TableStatement(sql).hasCollations)
    #expect(!TableStatement(sql).isWithoutRowNumbers)
  }
}
