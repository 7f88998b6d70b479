import Mustache

/// The templates of pages and pictures, which are part of the executable.
enum Templates {
  /// The templates by name.
  enum Name: String, CaseIterable {
    case page, section, live, timeline, curves, graph, pairs, style
  }

  /// Fills in a template.
  static func render(_ name: Name, _ values: Any) -> Markup {
    guard let text = library.render(values, withTemplate: name.rawValue) else {
      preconditionFailure("all templates are in the library")
    }
    return Markup(rendered: text)
  }

  private static let library: MustacheLibrary = {
    var templates: [String: MustacheTemplate] = [:]
    for name in Name.allCases {
      do {
        let text = String(decoding: bytes(of: name), as: UTF8.self)
        // Texts are escaped before they come here.
        templates[name.rawValue] = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
      } catch {
        preconditionFailure("the template \(name) is not well formed: \(error)")
      }
    }
    return MustacheLibrary(templates: templates)
  }()

  private static func bytes(of name: Name) -> [UInt8] {
    switch name {
    case .page: PackageResources.page_mustache
    case .section: PackageResources.section_mustache
    case .live: PackageResources.live_mustache
    case .timeline: PackageResources.timeline_mustache
    case .curves: PackageResources.curves_mustache
    case .graph: PackageResources.graph_mustache
    case .pairs: PackageResources.pairs_mustache
    case .style: PackageResources.style_css
    }
  }
}
