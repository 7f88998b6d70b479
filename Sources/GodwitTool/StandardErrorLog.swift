import Logging

/// Writes log lines to standard error, warnings and worse unless more is requested.
struct StandardErrorLog: LogHandler {
  let label: String
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.warning

  init(label: String) { self.label = label }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let facts = metadata.merging(event.metadata ?? [:]) { _, new in new }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    Terminal.standardError.line(text: "\(label): \(event.level): \(event.message)\(facts)")
  }
}
