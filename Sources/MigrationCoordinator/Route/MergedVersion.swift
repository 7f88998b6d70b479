import ModelFiles
import ObjectModel

/// A model that an application merged from one version of each of several bundles.
struct MergedVersion {
  /// The version of each bundle, nil for one that has no part in it.
  let parts: [ModelVersion?]
  /// The merged model.
  let model: ManagedObjectModel

  /// The names of the parts: `People 2 + Animals`.
  var name: String { parts.compactMap { $0?.name }.joined(separator: " + ") }

  /// The most combinations of versions that are tried.
  private static let mostTries = 10_000

  /// Finds the versions that were merged into a model with these hashes; nil if there are none.
  static func find(
    _ hashes: [String: VersionHash], in bundles: [[ModelVersion]], library: ModelLibrary
  ) -> MergedVersion? {
    guard bundles.count > 1, !hashes.isEmpty else { return nil }
    let fitting = bundles.map { versions in
      versions.compactMap { version -> Candidate? in
        guard let own = library.hashes(of: version), !own.isEmpty,
          own.allSatisfy({ hashes[$0.key] == $0.value })
        else { return nil }
        return Candidate(version: version, entities: Set(own.keys))
      }
    }
    var search = Search(candidates: fitting, tries: mostTries)
    guard let parts = search.parts(covering: Set(hashes.keys)) else { return nil }
    let models = parts.compactMap { $0.flatMap { try? library.model(of: $0) } }
    guard let model = try? ManagedObjectModel.merged(models) else { return nil }
    return MergedVersion(parts: parts, model: model)
  }

  private struct Candidate {
    var version: ModelVersion
    var entities: Set<String>
  }

  /// Chooses at most one version of each bundle, so that together they have all entities.
  private struct Search {
    let candidates: [[Candidate]]
    var tries: Int

    mutating func parts(covering names: Set<String>) -> [ModelVersion?]? {
      parts(covering: names, chosen: candidates.map { _ in nil })
    }

    private mutating func parts(
      covering names: Set<String>, chosen: [ModelVersion?]
    ) -> [ModelVersion?]? {
      guard let wanted = names.min() else { return chosen }
      for (place, versions) in candidates.enumerated() where chosen[place] == nil {
        for candidate in versions where candidate.entities.contains(wanted) {
          tries -= 1
          guard tries > 0 else { return nil }
          var next = chosen
          next[place] = candidate.version
          if let found = parts(covering: names.subtracting(candidate.entities), chosen: next) {
            return found
          }
        }
      }
      return nil
    }
  }
}
