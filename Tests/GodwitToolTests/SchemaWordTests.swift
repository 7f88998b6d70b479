import Foundation
import Godwit
import Mapping
import MigrationCoordinator
import Testing

/// The words of `docs/schemas` that are cases of enumerations.
struct SchemaWordTests {
  /// An enumeration in a schema, and where it is.
  struct Place: CustomTestStringConvertible {
    let schema: String
    let path: String
    let words: [String]
    var testDescription: String { "\(schema)\(path)" }
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../docs/schemas")

  private static let places: [Place] = {
    let kinds = Loss.Kind.allCases.map(\.rawValue)
    let causes = MigrationFailure.Reason.Cause.Name.allCases.map(\.rawValue)
    let failures = MigrationFailure.Kind.allCases.map(\.rawValue)
    return ["check", "error", "report"].map {
      Place(schema: $0, path: "/$defs/reason/properties/cause", words: causes)
    }
      + ["check", "plan"].map {
        Place(schema: $0, path: "/$defs/loss/properties/kind", words: kinds)
      }
      + ["receipt", "report"].map {
        Place(schema: $0, path: "/properties/losses/items/properties/kind", words: kinds)
      } + [
        Place(schema: "error", path: "/properties/error/properties/kind", words: failures),
        Place(schema: "report", path: "/properties/failure/properties/kind", words: failures),
        Place(schema: "report", path: "/$defs/cause", words: LossCause.allCases.map(\.rawValue)),
        Place(
          schema: "receipt", path: "/properties/losses/items/properties/consent",
          words: LossGround.allCases.map(\.rawValue)),
      ]
  }()

  @Test(arguments: places)
  func `a schema lists each case and nothing else`(place: Place) throws {
    let file = Self.folder.appending(path: "\(place.schema).schema.json")
    var value: Any? = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
    for name in place.path.split(separator: "/") {
      value = (value as? [String: Any])?[String(name)]
    }
    let listed = (value as? [String: Any])?["enum"] as? [String]
    #expect(listed?.sorted() == place.words.sorted())
  }
}
