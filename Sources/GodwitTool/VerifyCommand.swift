import ArgumentParser
import Godwit
import MigrationCoordinator
import StoreFormat
import SystemPackage

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares a migrated store with the old one, object by object.",
    discussion: "Both are left as they are. Ends with 65 if they differ.")

  @Argument(help: "The store before the migration.")
  var old: FilePath

  @Argument(help: "The store after it.")
  var new: FilePath

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "Where the models of both stores may be found; the stores themselves if not given.",
      valueName: "path"))
  var models: [FilePath] = []

  func run() throws {
    let before = try survey(old)
    let after = try survey(new)
    let comparison = try StoreComparison(old: before, new: after)
    for difference in comparison.differences {
      Terminal.standardOutput.line(difference.sentence)
    }
    guard comparison.count == 0 else {
      throw MigrationFailure(
        .damaged,
        "\(new) is not what \(old) should have become: \(comparison.count) differences in "
          + "\(comparison.rows) rows.")
    }
    Terminal.standardOutput.line("\(new): \(comparison.rows) rows as they should be.")
  }

  private func survey(_ store: FilePath) throws -> StoreSurvey {
    try StoreSurvey(store: store, access: try SourceAccess.open(store), models: models)
  }
}

extension StoreComparison.Difference {
  var sentence: String {
    switch self {
    case .rowMissing(let table, let key): "\(table) \(key): missing"
    case .rowExtra(let table, let key): "\(table) \(key): one too many"
    case .value(let table, let key, let column, let expected, let actual):
      "\(table) \(key) \(column): \(actual.prefix(60)) instead of \(expected.prefix(60))"
    case .order(let table, let column): "\(table).\(column): two rows in one place"
    case .uuid(let expected, let actual): "UUID: \(actual) instead of \(expected)"
    case .metadataKey(let key): "metadata key \(key): not carried over"
    case .keyMaximum(let entity, let expected, let actual):
      "highest key of \(entity): \(actual) instead of \(expected)"
    case .tableUnexpected(let table): "\(table): has rows, and the old store has none for it"
    }
  }
}
