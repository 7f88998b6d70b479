import ArgumentParser
import SystemPackage

/// The options of commands that print metrics.
struct MetricsOptions: ParsableArguments {
  @Flag(help: "Print metrics in the text format of Prometheus.")
  var prometheus = false

  @Option(
    help: """
      Write the metrics to this file, such as in the textfile folder of the node exporter. With \
      --watch, every second.
      """)
  var output: FilePath?

  /// Checks the options together with those of the command.
  ///
  /// - Parameter json: the command's options for JSON, nil where none is given.
  func check(watch: Bool, json: String?) throws {
    if prometheus, let json {
      throw ValidationError("--prometheus prints no JSON: leave \(json) out.")
    }
    if output != nil && !prometheus {
      throw ValidationError("--output writes metrics: add --prometheus.")
    }
    if prometheus && watch && output == nil {
      throw ValidationError("--watch writes metrics to a file: name it with --output.")
    }
  }
}
