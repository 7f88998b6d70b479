import Foundation
import FoundationXML

/// An XML document as a flat table of elements.
///
/// The parser does not recurse with the depth of the document; callers that do limit the depth
/// themselves.
package struct XMLTree: Sendable {
  /// An element with its attributes.
  package struct Element: Sendable {
    /// The name of the element, with its prefix.
    package var name: String
    /// The values of the attributes, by name.
    package var attributes: [String: String]
    /// The line on which its start tag ends, from 1.
    package var line = 1
    /// The numbers of the elements directly inside.
    package var children: [Int] = []
    /// The text directly inside the element.
    package var text = ""
  }

  /// All elements in the order of their start; number 0 is the root.
  package private(set) var elements: [Element] = []

  /// The root element.
  package var root: Element { elements[0] }

  /// Parses a document in UTF-8.
  ///
  /// - Throws: `ModelFileError`, also for entity declarations: the parser would drop the text that
  ///   entities stand for.
  package init(parsing bytes: [UInt8], maximumElements: Int = 500_000) throws(ModelFileError) {
    try Self.checkPrologue(bytes)
    let parser = XMLParser(data: Data(bytes))
    parser.shouldResolveExternalEntities = false
    let builder = XMLTreeBuilder(maximumElements: maximumElements)
    parser.delegate = builder
    let complete = parser.parse()
    if let problem = builder.problem { throw ModelFileError(problem) }
    // The parser calls a document complete that ends within its elements.
    guard complete, parser.parserError == nil, builder.isClosed else {
      throw ModelFileError(.damagedXML(line: parser.lineNumber))
    }
    elements = builder.elements
  }

  /// Checks the encoding and that no entities are declared.
  ///
  /// The parser expands entities in attributes without calling its delegate, so their declaration
  /// is searched for in the bytes; that requires an encoding with a single spelling of it.
  private static func checkPrologue(_ bytes: [UInt8]) throws(ModelFileError) {
    let start = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...]
    let prologue = start.prefix { $0 != UInt8(ascii: ">") }.map {
      UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0
    }
    if prologue.starts(with: "<?xml".utf8), let end = end(of: "encoding", in: prologue) {
      let name = prologue[end...].drop { " \t\r\n=".utf8.contains($0) }
        .dropFirst().prefix { !"\"'".utf8.contains($0) }
      guard name.elementsEqual("utf-8".utf8) else {
        throw ModelFileError(.unknownEncoding(String(decoding: name, as: UTF8.self)))
      }
    }
    guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
      throw ModelFileError(.unknownEncoding("not UTF-8"))
    }
    guard end(of: "<!ENTITY", in: bytes) == nil else { throw ModelFileError(.entityDeclaration) }
  }

  /// The place behind the first occurrence of a word, in which its first byte stands once.
  private static func end(of word: String, in bytes: [UInt8]) -> Int? {
    let word = Array(word.utf8)
    var matched = 0
    for place in bytes.indices {
      matched = bytes[place] == word[matched] ? matched + 1 : bytes[place] == word[0] ? 1 : 0
      if matched == word.count { return place + 1 }
    }
    return nil
  }

  /// The elements directly inside.
  package func children(of element: Element) -> [Element] {
    element.children.map { elements[$0] }
  }

  /// The elements of this name directly inside.
  package func children(of element: Element, named name: String) -> [Element] {
    children(of: element).filter { $0.name == name }
  }
}

private final class XMLTreeBuilder: NSObject, XMLParserDelegate {
  var elements: [XMLTree.Element] = []
  var problem: ModelFileError.Problem?
  private var open: [Int] = []

  /// Whether every element that started has ended under its name.
  var isClosed: Bool { open.isEmpty && !elements.isEmpty }

  private let maximumElements: Int

  init(maximumElements: Int) { self.maximumElements = maximumElements }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    guard elements.count < maximumElements else {
      return stop(parser, reason: .tooLarge(limit: maximumElements))
    }
    if let parent = open.last { elements[parent].children.append(elements.count) }
    open.append(elements.count)
    elements.append(
      XMLTree.Element(name: name, attributes: attributes, line: parser.lineNumber))
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
    qualifiedName: String?
  ) {
    guard let last = open.popLast(), elements[last].name == name else {
      return stop(parser, reason: .damagedXML(line: parser.lineNumber))
    }
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if let current = open.last { elements[current].text += text }
  }

  func parser(_ parser: XMLParser, foundCDATA data: Data) {
    if let current = open.last { elements[current].text += String(decoding: data, as: UTF8.self) }
  }

  func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
    if problem == nil { problem = .damagedXML(line: parser.lineNumber) }
  }

  private func stop(_ parser: XMLParser, reason: ModelFileError.Problem) {
    if problem == nil { problem = reason }
    parser.abortParsing()
  }
}
