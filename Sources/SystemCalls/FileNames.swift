extension StringProtocol where SubSequence == Substring {
  /// What the name of a file has behind another name; nil where it does not begin with it.
  ///
  /// File systems compare bytes: names that look alike may be those of two files.
  package func rest(behind name: String) -> Substring? {
    guard utf8.starts(with: name.utf8) else { return nil }
    return self[utf8.index(utf8.startIndex, offsetBy: name.utf8.count)...]
  }
}
