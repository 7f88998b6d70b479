/// Names or paths with commas between them; only the first ones if there are many.
struct ListText: CustomStringConvertible {
  private let items: [String]
  private let most: Int

  /// Takes the items, and how many are shown.
  init(_ items: some Sequence<some CustomStringConvertible>, most: Int = 8) {
    (self.items, self.most) = (items.map { "\($0)" }, most)
  }

  /// The first items, and how many more there are.
  var description: String {
    let more = items.count > most ? ", and \(items.count - most) more" : ""
    return items.prefix(most).joined(separator: ", ") + more
  }
}
