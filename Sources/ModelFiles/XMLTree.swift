import Foundation
import FoundationXML

/// An XML document as a flat table of elements.
///
/// Model sources, property lists and mapping sources are read this way: the parser never recurses
/// over the document's depth, and whoever walks the table chooses how deep to go.
package struct XMLTree: Sendable {
  package struct Element: Sendable {
    package var name: String
    package var attributes: [String: String]
    /// The numbers of the elements inside.
    package var children: [Int] = []
    /// The text of the element itself.
    package var text = ""
  }

  /// Element 0 is the document's root.
  package private(set) var elements: [Element] = []

  package var root: Element { elements[0] }

  /// Entity declarations are refused: the parser would drop what they stand for without a word.
  package init(parsing bytes: [UInt8], maximumElements: Int = 500_000) throws(ModelFileError) {
    let parser = XMLParser(data: Data(bytes))
    parser.shouldResolveExternalEntities = false
    let builder = XMLTreeBuilder(maximumElements: maximumElements)
    parser.delegate = builder
    let complete = parser.parse()
    if let problem = builder.problem { throw ModelFileError(problem) }
    guard complete, !builder.elements.isEmpty else {
      throw ModelFileError(.damagedXML(line: parser.lineNumber))
    }
    elements = builder.elements
  }

  package func children(of element: Element) -> [Element] {
    element.children.map { elements[$0] }
  }

  /// The elements of that name directly inside.
  package func children(of element: Element, named name: String) -> [Element] {
    children(of: element).filter { $0.name == name }
  }
}

private final class XMLTreeBuilder: NSObject, XMLParserDelegate {
  var elements: [XMLTree.Element] = []
  var problem: ModelFileError.Problem?
  private var open: [Int] = []
  private let maximumElements: Int

  init(maximumElements: Int) { self.maximumElements = maximumElements }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    guard elements.count < maximumElements else {
      return stop(parser, .tooLarge(limit: maximumElements))
    }
    if let parent = open.last { elements[parent].children.append(elements.count) }
    open.append(elements.count)
    elements.append(XMLTree.Element(name: name, attributes: attributes))
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
    qualifiedName: String?
  ) {
    open.removeLast()
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if let current = open.last { elements[current].text += text }
  }

  func parser(_ parser: XMLParser, foundCDATA data: Data) {
    if let current = open.last { elements[current].text += String(decoding: data, as: UTF8.self) }
  }

  func parser(
    _ parser: XMLParser, foundInternalEntityDeclarationWithName name: String, value: String?
  ) {
    stop(parser, .entityDeclaration)
  }

  func parser(
    _ parser: XMLParser, foundExternalEntityDeclarationWithName name: String, publicID: String?,
    systemID: String?
  ) {
    stop(parser, .entityDeclaration)
  }

  private func stop(_ parser: XMLParser, _ reason: ModelFileError.Problem) {
    if problem == nil { problem = reason }
    parser.abortParsing()
  }
}
