import Digests

extension MigrationReceipt {
  /// Sets the hash of the receipt, once all other fields are set.
  mutating func seal() throws { sha256 = try hash() }

  private func hash() throws -> String {
    var unsealed = self
    unsealed.sha256 = nil
    let text = try JSONOutput.line(value: unsealed).text
    return SecureHash.sha256.digest(of: Array(text.utf8)).hexadecimal
  }

  /// What contradicts itself in the receipt, one sentence each.
  func contradictions() throws -> [String] {
    var lines: [String] = []
    let own = try hash()
    if sha256 != own {
      lines.append(
        "it was edited: its fields have the SHA-256 \(own), but it states \(sha256 ?? "none").")
    }
    for account in objects + references {
      let dropped = account.dropped.reduce(0) { $0 + $1.count }
      guard account.in != account.out + dropped else { continue }
      let name = [account.entity, account.relationship].compactMap(\.self).joined(separator: ".")
      lines.append(
        "\(name): \(GroupedText(account.in)) in, \(GroupedText(account.out)) out and "
          + "\(GroupedText(dropped)) dropped do not add up.")
    }
    guard let counted = source.objects, let first = objects.first?.stage else { return lines }
    let told = Dictionary(
      objects.filter { $0.stage == first }.map { ($0.entity, $0.in) }, uniquingKeysWith: +)
    for name in Set(told.keys).union(counted.keys).sorted() {
      let (told, counted) = (told[name] ?? 0, counted[name] ?? 0)
      guard told != counted else { continue }
      lines.append(
        "\(name): \(CountText(counted, "object")) in the old store, \(GroupedText(told)) accounted "
          + "for.")
    }
    return lines
  }
}
