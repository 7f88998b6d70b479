import ArgumentParser
import Godwit
import SystemPackage

/// How what a check finds is shown at the lines of the model.
struct CheckPlaceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Print each finding with its line in the model: github (annotations and a job summary), "
        + "gitlab (Code Quality, instead of the table) or plain.", valueName: "form"))
  var annotate: AnnotationText.Format?

  @Option(
    help: ArgumentHelp(
      "Write the findings to this file as SARIF, for code scanning.", valueName: "file"))
  var sarif: FilePath?

  @Option(
    help: ArgumentHelp("Write a summary to this file as Markdown.", valueName: "file.md"))
  var summary: FilePath?

  /// Whether any of them is given.
  var isAsked: Bool { annotate != nil || sarif != nil || summary != nil }

  /// Returns what a block returns, and shows that a model cannot be read before it throws that.
  func noting<Result>(
    besides stores: [FilePath], _ block: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await block()
    } catch let failure as MigrationFailure where failure.kind != .interrupted {
      try files(besides: stores).write(failure)
      throw failure
    }
  }

  /// Checks that the files can be written.
  ///
  /// - Parameter stores: the stores whose own files are not replaced.
  func files(besides stores: [FilePath]) throws -> CheckPlaceFiles {
    let job = ContinuousJob.current
    return CheckPlaceFiles(
      format: annotate, job: job,
      sarif: try sarif.map {
        try SARIFReportFile($0, besides: stores, root: job.root, in: job.folder)
      },
      summary: try summary.map { try CheckSummaryFile($0, besides: stores) })
  }
}

/// The files that a check writes for servers.
struct CheckPlaceFiles {
  fileprivate let format: AnnotationText.Format?
  fileprivate let job: ContinuousJob
  fileprivate let sarif: SARIFReportFile?
  fileprivate let summary: CheckSummaryFile?

  /// Prints and writes what was found.
  func write(_ report: CheckReport, models: [FilePath]) throws {
    let annotations = report.annotations(models: models)
    try write(annotations)
    let markdown = CheckSummary(report, annotations)
    try summary?.write(markdown)
    if format == .github, let file = job.summary { try markdown.append(to: file) }
  }

  /// Prints and writes why nothing could be checked.
  func write(_ failure: MigrationFailure) throws { try write([.init(model: failure)]) }

  private func write(_ annotations: [CheckReport.Annotation]) throws {
    let text = AnnotationText(annotations, root: job.root, in: job.folder)
    let out = Terminal.standardOutput
    switch format {
    case nil: break
    case .gitlab: out.line(json: try JSONOutput.text(value: text.codeQuality))
    case .github, .plain:
      for line in text.lines(format ?? .plain) { out.line(text: line) }
    }
    try sarif?.write(annotations)
  }
}

extension AnnotationText.Format: WordArgument {}
