import Expressions
import Mapping
import ObjectModel
import Planning
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What a plan says of the way that objects go, and of the mapping models beside it.
@Suite(.scratchFolder) struct EngineReasonTests {
  private let given: GivenMapping

  init() throws { given = try GivenMapping(rows: 20) }

  private func preview<T: Sendable>(
    _ request: MigrationRequest, _ body: (MigrationPreview) throws -> T
  ) throws -> T {
    let target = try TargetModel(paths: request.target, configuration: nil)
    return try MigrationPreview.with(request, target: target, body: body)
  }

  private func reason(
    engine: EngineName? = nil, _ change: (inout GivenMapping) throws -> Void
  ) throws -> String? {
    var given = given
    try change(&given)
    var request = try given.request()
    request.engine = engine
    return try preview(request) { $0.engine?.name == .objects ? $0.engine?.reason : nil }
  }

  @Test func `why objects are made one by one is told with its place`() throws {
    let name = try #require(given.mapping.mapping(toDestination: "Other")?.name)
    #expect(try reason { _ in } == nil)
    #expect(try reason(engine: .objects) { _ in } == "it was requested")
    #expect(
      try reason { $0.setPolicy("Dropping", of: "Other") }
        == "the policy Dropping of \(name) does not declare its objects independent")
    #expect(
      try reason {
        $0.change("Other") {
          $0.sourceExpression = .sourceObjects(of: "Other", where: "now() != nil")
        }
      } == "the filter of \(name) depends on the current time")
    #expect(
      try reason { given in
        var second = try #require(given.mapping.mapping(toDestination: "Other"))
        second.name = "Second"
        given.mapping.entityMappings.append(second)
      } == "\(name) and Second read or make objects of the same entity")
  }

  @Test func `a mapping model by two paths is no second one`() throws {
    var request = try given.request()
    let file = request.mappings[0]
    request.mappings = [
      file.removingLastComponent().appending(".").appending(file.lastComponent?.string ?? "")
    ]
    #expect(request.mappings[0].string != file.string)
    #expect(try preview(request) { $0.route?.unusedMappings(.plain).count } == 0)
  }
}
