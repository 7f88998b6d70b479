import Expressions
import Foundation
import Mapping
import MappingFiles
import SystemPackage
import TestSupport
import Testing

/// Mapping documents of our own, whose models lie beside them.
@Suite(.scratchFolder) struct RelationshipInspectorTests {
  private static let source = """
    <entity name="Album"><attribute name="notes" optional="YES" attributeType="String"/>
    <relationship name="label" optional="YES" maxCount="1" destinationEntity="Label" \
    inverseName="albums" inverseEntity="Label"/></entity>
    <entity name="Label"><relationship name="albums" optional="YES" toMany="YES" \
    destinationEntity="Album" inverseName="label" inverseEntity="Album"/></entity>
    """
  private static let destination =
    source.replacingOccurrences(
      of: "<entity name=\"Album\">",
      with: "<entity name=\"Album\"><relationship name=\"plays\" optional=\"YES\" toMany=\"YES\" "
        + "destinationEntity=\"Play\" inverseName=\"album\" inverseEntity=\"Play\"/>")
      + """
      <entity name="Play"><relationship name="album" optional="YES" maxCount="1" \
      destinationEntity="Album" inverseName="plays" inverseEntity="Album"/></entity>
      """

  private static func text(_ name: String, _ value: String) -> String {
    "<attribute name=\"\(name)\" type=\"string\">\(value)</attribute>"
  }

  /// A document that makes an album and a play of each album, by these fields of the relationship
  /// of the play.
  private func document(
    fields: String, entityFields: String = "", more: String = "", listing: String = ""
  ) throws -> MappingFile {
    for (name, entities) in [("Old", Self.source), ("New", Self.destination)] {
      let folder = ScratchFolder.current.appending("\(name).xcdatamodel")
      try FileManager.default.createDirectory(
        atPath: folder.string, withIntermediateDirectories: true)
      try Data(
        "<model type=\"com.apple.IDECoreDataModeler.DataModel\">\(entities)</model>".utf8
      ).write(to: URL(filePath: folder.appending("contents").string))
    }
    let text = """
      <?xml version="1.0" standalone="yes"?>
      <database><databaseInfo/>
      <object type="XDDEVMAPPINGMODEL" id="m">\(Self.text("sourcemodelpath", "Old.xcdatamodel"))
      \(Self.text("destinationmodelpath", "New.xcdatamodel"))
      <relationship name="entitymappings" idrefs="a p l\(listing)"/></object>
      <object type="XDDEVENTITYMAPPING" id="a">\(Self.text("sourcename", "Album"))
      \(Self.text("destinationname", "Album"))<relationship name="relationshipmappings" idrefs=""/>
      </object>
      <object type="XDDEVENTITYMAPPING" id="l">\(Self.text("sourcename", "Label"))
      \(Self.text("destinationname", "Label"))</object>
      <object type="XDDEVENTITYMAPPING" id="p">\(Self.text("sourcename", "Album"))
      \(Self.text("destinationname", "Play"))\(entityFields)
      <relationship name="relationshipmappings" idrefs="r"/></object>
      <object type="XDDEVRELATIONSHIPMAPPING" id="r">\(Self.text("name", "album"))\(fields)
      <attribute name="autogenerateexpression" type="bool">1</attribute></object>\(more)
      </database>
      """
    let folder = ScratchFolder.current.appending("Albums.xcmappingmodel")
    try FileManager.default.createDirectory(
      atPath: folder.string, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: folder.appending("xcmapping.xml").string))
    return try MappingFile.read(folder)
  }

  private func expression(_ fields: String) throws -> String? {
    try document(fields: fields).mapping.mapping(named: "AlbumToPlay")?.relationshipMappings
      .first?.valueExpression?.description
  }

  private static func call(_ mapping: String, _ objects: String) -> String {
    "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
      + "\"\(mapping)\", \(objects))"
  }

  @Test(arguments: [
    ("$source", "AlbumToAlbum", "AlbumToAlbum", "$source"),
    ("$source.label", "LabelToLabel", "LabelToLabel", "$source.label"),
    ("label", "LabelToLabel", "LabelToLabel", "$source.label"),
    ("$source", "", "AlbumToAlbum", "$source"),
    ("$source.label.albums", "", "AlbumToAlbum", "$source.label.albums"),
    ("", "LabelToLabel", "LabelToLabel", "$source.album"),
  ])
  func `key path and mapping name of the inspector become the expression that Xcode compiles`(
    path: String, name: String, mapping: String, objects: String
  ) throws {
    let fields =
      (path.isEmpty ? "" : Self.text("sourcekeypath", path))
      + (name.isEmpty ? "" : Self.text("sourcemappingname", name))
    #expect(try expression(fields) == Self.call(mapping, objects))
  }

  @Test func `a key path whose objects no mapping makes is refused`() throws {
    let error = #expect(throws: MappingFileError.self) {
      try document(fields: Self.text("sourcekeypath", "$source.label.name.more"))
    }
    #expect((error?.mapping, error?.property) == ("AlbumToPlay", "album"))
    #expect(throws: MappingFileError.self) {
      try document(fields: Self.text("sourcekeypath", "((("))
    }
  }

  @Test func `an entity mapping that names no entity is skipped with a note`() throws {
    let file = try document(
      fields: "",
      more: """
        <object type="XDDEVENTITYMAPPING" id="x">\(Self.text("name", "Mapping"))
        \(Self.text("mappingtypename", "Undefined"))</object>
        """, listing: " x")
    #expect(
      file.mapping.entityMappings.map(\.name) == ["AlbumToAlbum", "AlbumToPlay", "LabelToLabel"])
    #expect(file.notes.map(\.kind) == [.namesNoEntity] && file.notes.map(\.mapping) == ["Mapping"])
  }

  @Test func `fields that are not known are named with their place`() throws {
    let file = try document(
      fields: Self.text("sourcetint", "red") + Self.text("empty", ""),
      entityFields: Self.text("mappingtypename", "Transform"))
    #expect(
      file.notes.map { [$0.field, $0.mapping, $0.property] } == [
        ["mappingtypename Transform", "AlbumToPlay", nil], ["sourcetint", "AlbumToPlay", "album"],
      ])
  }

  @Test func `a mapping with values and no source is noted`() throws {
    let path = ScratchFolder.current.appending("Map.json")
    try Data(
      """
      {"format": "godwit mapping model", "version": 1,
       "mappings": [{"destination": "Tag", "attributes": {"name": "\\"new\\""}},
                    {"destination": "Plain", "attributes": {"name": null}},
                    {"destination": "Whole", "attributes": {"name": "\\"all\\""},
                     "onePer": {"all": true}}]}
      """.utf8
    ).write(to: URL(filePath: path.string))
    let notes = try MappingFile.read(path).notes
    #expect(notes.map(\.kind) == [.makesNoObjects] && notes.map(\.mapping) == ["Tag"])
  }

  @Test func `a JSON file keeps the versions that it was written for`() throws {
    let file = try document(fields: "")
    let versions = try #require(file.versions)
    let path = ScratchFolder.current.appending("Map.json")
    let text = try MappingText.text(mapping: file.mapping, versions: versions)
    try Data(text.utf8).write(to: URL(filePath: path.string))
    let read = try MappingFile.read(path)
    #expect(read.versions == versions && read.mapping == file.mapping)
  }
}
