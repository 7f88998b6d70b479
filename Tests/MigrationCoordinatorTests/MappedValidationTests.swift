import Expressions
import Godwit
import Mapping
import ObjectMigration
import ObjectModel
import Planning
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Rules that objects of several groups break.
@Suite(.scratchFolder) struct MappedValidationTests {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init() throws {
    old = try ManagedObjectModel(
      Entity("Lonely", [.optional("word")]), Entity("Other", [.optional("number", .integer32)]))
    new = try ManagedObjectModel(
      Entity("Lonely", [.mandatory("word")]),
      Entity("Other", [.mandatory("number", .integer32)]))
  }

  private func given() throws -> (GivenMapping, MigrationRequest) {
    var given = try GivenMapping(from: old, to: new)
    // A constant would be refused before any object is made.
    let nothing = try ValueExpression(format: "TERNARY($source.objectID == nil, nil, nil)")
    for entity in ["Lonely", "Other"] {
      given.change(entity) { mapping in
        for index in mapping.attributeMappings.indices {
          mapping.attributeMappings[index].valueExpression = nothing
        }
      }
    }
    var request = try given.request()
    // What the mappings put nil in the place of.
    request.lossConsent = .some(["Lonely.word", "Other.number"])
    return (given, request)
  }

  @Test func `violations of all groups are told together`() async throws {
    let (given, request) = try given()
    let error = try await given.failure(request) as? ObjectMigrationError
    #expect(error?.problem == .invalid(violations: 40))
    #expect(Set(error?.violations.map(\.entity) ?? []) == ["Lonely", "Other"])
    let sentences = MigrationFailure(error ?? MigrationFailure(.bug, "")).sentences
    #expect(sentences.count == 3)
    #expect(
      sentences.contains {
        $0.hasPrefix("Other.number, 20 objects (Z_PK 1, 2, 3,") && $0.hasSuffix("[1570].")
      })
  }

  @Test func `violations are counted where they are only to be told`() async throws {
    var (given, request) = try given()
    request.validation = .report
    let report = try await given.run(request)
    #expect(report.violations == 40)
    #expect(report.firstViolations.count == 40)
    request.validation = .off
    request.output = given.given.folder.appending("Off.sqlite")
    #expect(try await given.run(request).violations == 0)
  }

  @Test func `violations in the middle of several stages are counted as well`() async throws {
    var (given, request) = try given()
    let last = try ManagedObjectModel(
      Entity("Lonely", [.optional("word"), .optional("later")]),
      Entity("Other", [.optional("number", .integer32)]))
    let bundle = try given.given.bundle(of: [old, new, last])
    (request.target, request.validation, request.isStepwise) = ([bundle], .report, true)
    let launcher = FaultyLauncher { document, _ in
      if document.source.hasSuffix("stage-1.sqlite") { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.given.run(request, launcher) }
    let report = try await given.run(request)
    #expect(report.resumed && report.accounts.count == 2)
    #expect(report.violations == 40 && report.firstViolations.count == 40)
  }
}
