/// A message of a stream of events, as the standard of HTML frames it.
struct ServerSentEvent: Hashable {
  /// What it is; without a name it is a plain message.
  var name: String?
  var data: String

  /// The message with its number, which a reconnecting browser sends back.
  func text(id: Int) -> String {
    var lines = ["id: \(id)"]
    if let name { lines.append("event: \(name)") }
    // Each of these would end the line, and what follows would be another field.
    let parts = data.split(omittingEmptySubsequences: false) { $0.isNewline }
    lines += parts.map { "data: \($0)" }
    return lines.joined(separator: "\n") + "\n\n"
  }

  /// After how many milliseconds a browser that lost its connection comes back.
  static let beginning = "retry: 2000\n\n"
  /// What browsers pass over, and what shows a server whose visitor is gone that it is.
  static let heartbeat = ": here\n\n"
}
