import Digests
public import SystemPackage

/// Annotations in a form that servers and editors show at the lines of files.
public struct AnnotationText: Sendable {
  /// The forms of annotations.
  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// Workflow commands of GitHub Actions, one a line.
    case github
    /// A report of GitLab's Code Quality, one JSON array.
    case gitlab
    /// `FILE:LINE: error: MESSAGE`, as compilers print it.
    case plain
  }

  private let annotations: [CheckReport.Annotation]
  private let root: RepositoryRoot

  /// Takes annotations.
  ///
  /// - Parameters:
  ///   - annotations: the annotations, such as those of a report.
  ///   - root: the folder that paths of the repository begin with.
  ///   - folder: the folder that relative paths begin with.
  public init(_ annotations: [CheckReport.Annotation], root: FilePath, in folder: FilePath) {
    self.annotations = annotations
    self.root = RepositoryRoot(root: root, folder: folder)
  }

  /// The lines of a format but that of GitLab.
  public func lines(_ format: Format) -> [String] {
    annotations.map { annotation in
      let message = annotation.text
      guard format == .github else {
        let place = annotation.place.map { "\($0.file):\($0.line): " } ?? "godwit: "
        return "\(place)\(annotation.level): \(message)"
      }
      let place = annotation.place.map {
        "file=\(Self.property(root.path(of: $0.file))),line=\($0.line),"
      }
      return "::\(annotation.level) \(place ?? "")title=\(Self.property(annotation.title))::"
        + Self.data(message)
    }
  }

  /// The data of a workflow command, on one line.
  private static func data(_ text: String) -> String {
    text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }

  /// The value of a property of a workflow command.
  private static func property(_ text: String) -> String {
    data(text).replacing(":", with: "%3A").replacing(",", with: "%2C")
  }

  /// The report of GitLab's Code Quality.
  public var codeQuality: some Encodable & Sendable {
    annotations.map { annotation in
      CodeQualityIssue(
        description: annotation.text, check_name: "godwit.\(annotation.rule)",
        fingerprint: annotation.fingerprint(root),
        severity: annotation.level == .error ? "blocker" : "minor",
        location: .init(
          path: annotation.path(root), lines: .init(begin: annotation.place?.line ?? 1)))
    }
  }
}

/// An issue as GitLab's Code Quality takes it.
private struct CodeQualityIssue: Encodable, Sendable {
  struct Location: Encodable, Sendable {
    struct Lines: Encodable, Sendable {
      var begin: Int
    }

    var path: String
    var lines: Lines
  }

  var description: String
  // GitLab's name.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  var check_name: String
  var fingerprint: String
  var severity: String
  var location: Location
}

/// Where paths of a repository begin.
struct RepositoryRoot {
  let root, folder: FilePath

  /// A path from the root on; as it is where it does not lie below.
  func path(of path: FilePath) -> String {
    var whole = folder.pushing(path).lexicallyNormalized()
    return whole.removePrefix(root.lexicallyNormalized()) ? whole.string : path.string
  }
}

extension CheckReport.Annotation {
  /// The message with the stores.
  var text: String {
    guard let first = stores.first else { return message }
    let prefix = message.contains(first) ? "" : "\(first): "
    guard stores.count > 1 else { return "\(prefix)\(message)" }
    let others = CountText(stores.count - 1, "other store")
    return "\(prefix)\(message) "
      + (hasOtherNumbers
        ? "Likewise in \(others), with other numbers." : "(The same in \(others).)")
  }

  /// What is about, in a few words.
  var title: String { name.map { "\(rule): \($0)" } ?? rule }

  /// The path of the file; where none is known, that of the first store.
  func path(_ root: RepositoryRoot) -> String {
    root.path(of: place?.file ?? FilePath(stores.first ?? "."))
  }

  /// What stays the same when lines and numbers of objects change.
  func fingerprint(_ root: RepositoryRoot) -> String {
    let text = [rule, name ?? "", path(root), name == nil ? message : ""].joined(separator: "\n")
    return SecureHash.sha256.digest(of: Array(text.utf8)).map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0\(digits)" : digits
    }.joined()
  }
}
