import ObjectModel

/// The settings of elements in model sources that have a known meaning.
private enum KnownSettings {
  private static let ofAll: Set<String> = [
    "name", "syncable", "elementID", "versionHashModifier", "optional", "transient", "indexed",
    "spotlightIndexingEnabled", "storedInTruthFile",
  ]
  private static let byElement: [String: Set<String>] = [
    "entity": [
      "representedClassName", "parentEntity", "isAbstract", "codeGenerationType",
      "coreSpotlightDisplayNameExpression",
    ],
    "attribute": [
      "attributeType", "usesScalarValueType", "defaultValueString", "defaultDateTimeInterval",
      "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval",
      "regularExpressionString", "valueTransformerName", "customClassName",
      "allowsExternalBinaryDataStorage", "preserveAfterDeletion", "allowsCloudEncryption",
      "composite", "compositeName", "derived", "derivationExpression",
    ],
    "relationship": [
      "toMany", "ordered", "minCount", "maxCount", "deletionRule", "destinationEntity",
      "inverseName", "inverseEntity",
    ],
    "fetchedProperty": [],
  ]

  static func contains(_ setting: String, of element: String) -> Bool {
    ofAll.contains(setting) || byElement[element]?.contains(setting) ?? true
  }
}

extension XMLTree.Element {
  /// The settings of the element whose meaning is not known, by name.
  ///
  /// A setting of a derived attribute counts as a part of its derivation.
  var unknownSettings: [UnreadPart] {
    let isDerived = attributes["derived"] != nil
    return attributes.filter { !KnownSettings.contains($0.key, of: name) }
      .filter { !(isDerived && $0.key.hasPrefix("deriv")) }
      .sorted { $0.key < $1.key }
      .map { UnreadPart(part: .setting, name: $0.key, form: $0.value) }
  }
}
