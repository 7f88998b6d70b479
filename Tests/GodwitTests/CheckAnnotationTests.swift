import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct CheckAnnotationTests {
  private static let strictNote = Model.entity(
    "Note",
    "\n" + Model.attribute("title", "String") + "\n" + Model.attribute("code", "String", ""))

  /// A check of two stores of a version without what the current one demands.
  private func report(_ given: GivenStore) async throws -> CheckReport {
    let other = given.folder.appending(path: "Other.sqlite")
    if try !given.names.contains("Other.sqlite") {
      try given.makeStore(of: "1", objects: 9, at: other, seed: 3)
    }
    var migration = given.migration()
    migration.output = nil
    let search = StoreSearch([FilePath(given.folder.path)])
    let check = try StoreCheck(of: migration)
    return CheckReport(await check.run(search.entries), by: check, in: search)
  }

  private func contents(_ given: GivenStore, _ version: String) -> String {
    given.version(version).appending(path: "contents").path
  }

  @Test func `a refusal stands at the line of its property, once for all stores`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Self.strictNote)
    let annotations = try await report(given).annotations()
    let refusal = try #require(annotations.first { $0.name == "Note.code" })
    #expect(refusal.level == .error)
    #expect(refusal.rule == "mandatoryWithoutDefault")
    #expect(refusal.place == .init(file: FilePath(contents(given, "2")), line: 4))
    #expect(refusal.stores.count == 2)
    #expect(refusal.text.hasSuffix(" Likewise in 1 other store, with other numbers."))
    var same = refusal
    same.hasOtherNumbers = false
    #expect(same.text.hasSuffix(" (The same in 1 other store.)"))
    #expect(annotations.count { $0.name == "Note.code" } == 1)
  }

  @Test func `what is gone stands where its entity is declared, or in the old version`()
    async throws
  {
    let given = try GivenStore(Model.note + Model.tag, Model.noteWithoutPages)
    let annotations = try await report(given).annotations()
    #expect(annotations.allSatisfy { $0.level == .warning && $0.rule == "loss" })
    let pages = try #require(annotations.first { $0.name == "Note.pages" })
    #expect(pages.place == .init(file: FilePath(contents(given, "2")), line: 2))
    let tag = try #require(annotations.first { $0.name == "Tag" })
    #expect(tag.place == .init(file: FilePath(contents(given, "1")), line: 2))
  }

  @Test func `an edited version stands at its file, and guards decide how grave it is`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    let bundle = FilePath(given.model.path)
    let lock = VersionLock.file(of: bundle)
    try VersionLock.lock(bundle, in: lock)
    try given.write(Model.tag, as: "1")
    var report = try await report(try GivenStore(Model.note, Model.longNote))
    report.releasedVersions = try await VersionLock.report(on: bundle, .file(lock))
    #expect(report.annotations().contains { $0.rule == "edited" && $0.level == .warning })
    #expect(report.exitStatus == 0)
    #expect(report.page.contains("changed"))
    #expect(JUnitText(report).text.contains("classname=\"godwit.versions\""))
    #expect(!JUnitText(report).text.contains("<failure"))
    report.guardsVersions = true
    #expect(report.annotations().contains { $0.rule == "edited" && $0.level == .error })
    #expect(report.exitStatus == 78)
    #expect(JUnitText(report).text.contains("<failure type=\"exit status 78\""))
  }

  @Test func `a store whose version is gone gets a warning, also where it is refused`() async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    _ = try await report(given)
    try given.write(Model.noteWithoutPages, as: "1")
    let possible = try await report(given).annotations()
    let warning = try #require(possible.first { $0.rule == "missingVersion" })
    #expect(warning.level == .warning && warning.stores.count == 2)
    #expect(warning.place == .init(file: FilePath(contents(given, "1")), line: 1))
    try given.write(Self.strictNote, as: "2")
    let refused = try await report(given)
    #expect(refused.annotations().map(\.rule) == ["mandatoryWithoutDefault", "missingVersion"])
    #expect(refused.findings.allSatisfy { $0.missingVersion?.nearest == "1" })
    let notes = refused.findings[0].notes(settlesDefects: false)
    #expect(notes.contains { $0.hasPrefix("No version of ") })
  }

  @Test func `the nearest version is named for a store without an embedded model`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.longNote)
    try given.change("DELETE FROM Z_MODELCACHE", in: given.store)
    try given.write(Model.noteWithoutPages + Model.tag, as: "1")
    let check = try StoreCheck(of: given.migration())
    let finding = try await check.run(.init(path: FilePath(given.store.path), failure: nil))
    #expect(!finding.isPossible)
    #expect(finding.missingVersion?.nearest == "1")
    let notes = finding.notes(settlesDefects: false)
    #expect(notes.contains { $0.contains("The nearest is 1, which has other hashes of Note.") })
  }

  @Test func `an edit stands at the line of what was edited`() async throws {
    let given = try GivenStore("\n" + Self.strictNote, Model.longNote)
    let bundle = FilePath(given.model.path)
    let lock = VersionLock.file(of: bundle)
    try VersionLock.lock(bundle, in: lock)
    try given.write(
      "\n" + Self.strictNote.replacing("\"String\" />", with: "\"Date\" />"), as: "1")
    var report = try await report(try GivenStore(Model.note, Model.longNote))
    report = CheckReport(
      [], by: try StoreCheck(of: given.migration()), in: StoreSearch([]))
    report.releasedVersions = try await VersionLock.report(on: bundle, .file(lock))
    #expect(report.annotations().map(\.rule) == ["edited"])
    #expect(report.annotations().map(\.place?.line) == [5])
  }

  @Test func `a model that cannot be read stands at its line`() throws {
    let given = try GivenStore(Model.note)
    try given.write("\n\n<entity", as: "1")
    let failure = try #require(
      #expect(throws: MigrationFailure.self) { try StoreCheck(of: given.migration()) })
    let annotation = CheckReport.Annotation(model: failure)
    #expect(annotation.place == .init(file: FilePath(contents(given, "1")), line: 4))
    #expect(text(annotation).lines(.plain)[0].contains("/contents:4: error: "))
  }

  private static let annotation = CheckReport.Annotation(
    level: .error, rule: "loss", place: .init(file: "My, app/A:B.xcdatamodel/contents", line: 7),
    name: "A.b", message: "50 % go,\nand more", stores: ["S.sqlite"])

  private func text(_ annotation: CheckReport.Annotation = Self.annotation) -> AnnotationText {
    AnnotationText([annotation], root: "/app", in: "/app/sub")
  }

  @Test func `GitHub's commands are escaped, with paths from the root of the repository`() {
    #expect(
      text().lines(.github) == [
        "::error file=sub/My%2C app/A%3AB.xcdatamodel/contents,line=7,title=loss%3A A.b::"
          + "S.sqlite: 50 %25 go,%0Aand more"
      ])
    var plain = Self.annotation
    plain.place = nil
    #expect(text(plain).lines(.github)[0].hasPrefix("::error title=loss%3A A.b::S.sqlite: "))
    #expect(text(plain).lines(.plain)[0].hasPrefix("godwit: error: S.sqlite: 50 %"))
    #expect(text().lines(.plain)[0].hasPrefix("My, app/A:B.xcdatamodel/contents:7: error: "))
  }

  @Test func `a finding keeps its fingerprint when lines and numbers change`() {
    let root = RepositoryRoot(root: "/app", folder: "/app")
    var other = Self.annotation
    other.place?.line = 9
    other.message = "60 % go"
    #expect(other.fingerprint(root) == Self.annotation.fingerprint(root))
    other.name = "A.c"
    #expect(other.fingerprint(root) != Self.annotation.fingerprint(root))
    #expect(RepositoryRoot(root: "/app", folder: "/elsewhere").path(of: "a/b") == "a/b")
    #expect(RepositoryRoot(root: "/app", folder: "/app").path(of: "/app/a/../b") == "b")
  }

  @Test func `Code Quality and SARIF have the file, the line and the severity`() throws {
    let quality = try JSONSerialization.jsonObject(
      with: Data(JSONOutput.text(value: text().codeQuality).text.utf8))
    let issue = try #require((quality as? [[String: Any]])?.first)
    #expect(issue["severity"] as? String == "blocker")
    #expect(issue["check_name"] as? String == "godwit.loss")
    let location = try #require(issue["location"] as? [String: Any])
    #expect(location["path"] as? String == "sub/My, app/A:B.xcdatamodel/contents")
    #expect((location["lines"] as? [String: Int]) == ["begin": 7])
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).sarif")
    defer { try? FileManager.default.removeItem(at: file) }
    for _ in 1...2 {
      try SARIFReportFile(FilePath(file.path), besides: [], root: "/app", in: "/app/sub")
        .write([Self.annotation])
    }
    let sarif = try String(contentsOf: file, encoding: .utf8)
    #expect(sarif.contains("\"uri\" : \"sub/My,%20app/A:B.xcdatamodel/contents\""))
    #expect(sarif.contains("\"startLine\" : 7") && sarif.contains("\"ruleId\" : \"loss\""))
  }

  @Test func `a summary shows names as they are, and is appended to that of a job`() async throws {
    #expect(CheckSummary.escaped("a_b|c<d>`") == "a\\_b\\|c&lt;d&gt;\\`")
    let given = try GivenStore(Model.note, Self.strictNote)
    let report = try await report(given)
    let summary = CheckSummary(report, report.annotations())
    let file = given.folder.appending(path: "summary.md")
    try Data("before\n".utf8).write(to: file)
    try summary.append(to: FilePath(file.path))
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text.hasPrefix("before\n<!-- godwit check -->\n### godwit check: 2 stores"))
    #expect(text.contains("| ❌ |") && text.contains("Note.code"))
  }

  @Test func `a job's variables name the root and the summary`() {
    let job = ContinuousJob(
      environment: ["GITHUB_WORKSPACE": "/w", "GITHUB_STEP_SUMMARY": "/s"], folder: "/w/x")
    #expect((job.root, job.summary) == ("/w", "/s"))
    let gitlab = ContinuousJob(environment: ["CI_PROJECT_DIR": "/p"], folder: "/p")
    #expect((gitlab.root, gitlab.summary) == ("/p", nil))
    #expect(ContinuousJob(environment: ["GITHUB_STEP_SUMMARY": ""], folder: "/f").summary == nil)
  }
}
