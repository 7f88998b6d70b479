import Foundation
import Mapping
import Testing

@testable import Godwit
@testable import GodwitTool

/// The page docs/reference/errors.md, which is written from `ErrorSamples`.
///
/// A run with GODWIT_RECORD=1 writes the page; read its diff before you commit it.
@Suite struct ErrorPageTests {
  @Test func `the page of errors has the sentences of the tool`() throws {
    let page = Advice.$words.withValue(CommandLineWords()) { Self.page }
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/reference/errors.md").standardizedFileURL
    if ProcessInfo.processInfo.environment["GODWIT_RECORD"] != nil {
      try page.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == page)
  }

  private static var page: String {
    """
    # Errors

    Every error message has the place, the cause and a remedy. This page
    has an example of each, written by the tool. `--json` prints the same as values
    ([schema](../schemas/error.schema.json)). Their `kind` and `cause` are names on this page.

    ## Kinds of errors

    Scripts react to the exit status or to `kind`, apps to `MigrationFailure.Kind` or to the code of the `NSError`. The
    code is Core Data's where it has one.

    | kind | code | meaning |
    |---|---|---|
    \(rows(MigrationFailure.Kind.allCases.map { [$0.rawValue, "\($0.cocoaCode)", meaning(of: $0)] }))

    ## Reasons why a store cannot be migrated

    A refusal (status 78) lists all reasons at once, and nothing was written. The number in brackets is Core Data's code.
    [Migration](migration.md) has the rules, [Suggestions](../how-to/suggestions.md) the command that tries remedies.

    | cause | example |
    |---|---|
    \(rows(ErrorSamples.reasons.map { [$0.cause.name, $0.description] }))

    ## A migration as a whole

    \(table(of: ErrorSamples.migrations + ErrorSamples.places + ErrorSamples.work))

    ## Stores

    \(table(of: ErrorSamples.stores))

    ## Models

    \(table(of: ErrorSamples.models))

    """
  }

  private static func table(of errors: [any Error]) -> String {
    let entries = errors.map { error in
      let failure = MigrationFailure(error)
      let text = failure.sentences.joined(separator: " ")
      return [failure.kind.rawValue, "\(failure.exitStatus.rawValue)", text]
    }
    return "| kind | exit status | example |\n|---|---|---|\n" + rows(entries)
  }

  private static func rows(_ rows: [[String]]) -> String {
    rows.map { "| \($0.map(escaped).joined(separator: " | ")) |" }.joined(separator: "\n")
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("|", with: "\\|").replacing("<", with: "&lt;").replacing("$", with: "&#36;")
  }

  private static func meaning(of kind: MigrationFailure.Kind) -> String {
    switch kind {
    case .invalidRequest: "The request contradicts itself, or names what does not exist."
    case .fileNotFound: "The store, a model or a mapping model does not exist."
    case .fileDamaged: "A file is damaged, or of another kind than expected."
    case .fileExists: "The path of a new file is taken."
    case .noPermission: "A permission is missing."
    case .cannotWrite: "A file cannot be written, or a device failed."
    case .diskFull: "A disk is full, or has too little free space."
    case .inUse: "Another process uses or migrates the store."
    case .systemResources: "The system has too little memory, or too few processes or open files."
    case .sourceModelMissing: "The store's own model was not found."
    case .mappingModelMissing: "No mapping model leads to the target, and none can be inferred."
    case .mappingModelUnusable: "Mapping models that were named or found cannot be used."
    case .modelsUnrelated: "The two models have no entity in common."
    case .storeUnsupported: "The store has features that cannot be migrated."
    case .notMigratable: "The store cannot be migrated, for the reasons that are listed."
    case .lossRefused: "Data would be lost without consent."
    case .objectsInvalid: "Objects of the result violate rules of the model."
    case .policyFailed: "A policy failed, or cancelled the migration."
    case .storesDiffer: "Two stores differ, or could not be compared completely."
    case .interrupted: "The migration was interrupted. The same command resumes it."
    case .notRunning: "No migration runs that could be paused, changed or cancelled."
    case .otherRun: "An interrupted run left work that was made for something else."
    case .workerForgotten: "The program is not prepared to be its own worker."
    case .fault: "A fault of Godwit itself: please report it."
    }
  }
}
