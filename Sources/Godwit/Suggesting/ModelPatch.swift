import Foundation
import Mapping
import MigrationCoordinator
import ModelFiles
import SystemCalls
import SystemPackage

/// Renaming identifiers for a version of a model, as a change of its source.
struct ModelPatch {
  /// The file `contents` of the version.
  let file: FilePath
  /// The renamings in the patch, without those that its source has no place for.
  let renamings: [RenamingProposal]
  private let old: [String]
  private let new: [String]
  private let version: ModelVersion
  private let root: FilePath

  /// Makes the patch; nil where the target has no source, or no renaming has a place in it.
  init?(_ proposals: [RenamingProposal], of target: FilePath) throws {
    guard !HeldStore.isStore(target) else { return nil }
    let bundle = try ModelBundle(target)
    version = try bundle.current()
    guard let lines = try DeclarationLines(of: version) else { return nil }
    root = ModelBundle.enclosing(bundle.path)
    file = lines.file
    old = Self.lines(of: try Files.readFile(file, limit: 64 << 20))
    var (edited, done) = (old, [RenamingProposal]())
    for proposal in proposals {
      let line =
        proposal.kind == .entity
        ? lines.line(ofEntity: proposal.name)
        : lines.line(ofProperty: proposal.name, of: proposal.entity)
      if let line, Self.edit(&edited, line: line - 1, proposal) { done.append(proposal) }
    }
    guard !done.isEmpty else { return nil }
    (new, renamings) = (edited, done)
  }

  /// The lines of a text, without the newlines that end them; one that Windows wrote keeps its CRs.
  static func lines(of bytes: some Collection<UInt8>) -> [String] {
    // In Swift a CR and a newline are one character.
    bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Adds a renaming identifier to the element whose start tag ends on a line.
  private static func edit(
    _ lines: inout [String], line: Int, _ proposal: RenamingProposal
  ) -> Bool {
    let mark = " name=\"\(JUnitText.content(proposal.name))\""
    for place in stride(from: line, through: max(0, line - 8), by: -1) {
      guard lines.indices.contains(place) else { return false }
      if let range = lines[place].range(of: mark), !lines[place].contains("elementID=") {
        let identifier = JUnitText.content(proposal.identifier)
        lines[place].insert(contentsOf: " elementID=\"\(identifier)\"", at: range.upperBound)
        return true
      }
      if lines[place].contains("<\(proposal.kind.rawValue)") { return false }
    }
    return false
  }

  /// Writes a copy of the bundle with the patch into a folder; the path of the target in it.
  func apply(in folder: FilePath) throws -> FilePath {
    guard let name = root.lastComponent else { return root }
    let copy = folder.appending(name)
    try FileManager.default.copyItem(atPath: root.string, toPath: copy.string)
    var rest = version.path.appending("contents").lexicallyNormalized()
    guard rest.removePrefix(root.lexicallyNormalized()) else { return copy }
    try Files.writeFileAtomically(
      Array(new.joined(separator: "\n").utf8), to: copy.pushing(rest))
    // A version that is named alone need not be the current one of its bundle.
    return root == version.path ? copy : copy.pushing(rest).removingLastComponent()
  }

  /// The patch in the form of `diff -u`, which `git apply -p0` and `patch -p0` take.
  var text: String {
    let context = 3
    let changed = old.indices.filter { old[$0] != new[$0] }
    var lines = ["--- \(file)\t", "+++ \(file)\t"]
    var next = changed.startIndex
    while next < changed.endIndex {
      var last = next
      while last + 1 < changed.endIndex, changed[last + 1] - changed[last] <= 2 * context {
        last += 1
      }
      let from = max(0, changed[next] - context)
      // What follows the last newline is no line.
      let end = old.last == "" ? old.count - 1 : old.count
      let to = min(end, changed[last] + context + 1)
      lines.append("@@ -\(from + 1),\(to - from) +\(from + 1),\(to - from) @@")
      for place in from..<to {
        let isUnended = place == old.count - 1
        let end = isUnended ? ["\\ No newline at end of file"] : []
        if old[place] == new[place] {
          lines += [" \(old[place])"] + end
        } else {
          lines += ["-\(old[place])"] + end + ["+\(new[place])"] + end
        }
      }
      next = last + 1
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
