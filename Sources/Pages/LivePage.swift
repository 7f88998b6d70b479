/// A page whose parts are updated while it is open.
///
/// It requests a stylesheet, a script and an icon from its server, and nothing else.
package struct LivePage: Sendable {
  /// A part of the page that changes as a whole.
  package struct Part: Hashable, Sendable {
    /// The name by which the script finds it.
    package let id: String
    /// What is in it.
    package let html: String

    /// Takes a name of letters that no other part of the page has; without a section it is empty.
    package init(_ id: String, _ section: Page.Section?) {
      (self.id, html) = (id, section?.html.renderText ?? "")
    }
  }

  private struct Values {
    struct Part {
      let id, html: Markup
    }
    let generator, windowTitle, heading: Markup
    let events: Markup?
    let hasList: Bool
    let parts: [Part]
  }

  /// The page as HTML.
  package let html: String

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - generator: the version of the program.
  ///   - windowTitle: the title of the window.
  ///   - heading: the heading of the page.
  ///   - events: the address of the event stream; nil if there are no updates.
  ///   - hasList: whether the page is one of those that the first page lists.
  package init(
    generator: String, windowTitle: String, heading: String, events: String?, hasList: Bool,
    parts: [Part]
  ) {
    html =
      Templates.render(
        .live,
        Values(
          generator: Markup(generator), windowTitle: Markup(windowTitle), heading: Markup(heading),
          events: events.map { Markup($0) }, hasList: hasList,
          parts: parts.map { .init(id: Markup($0.id), html: Markup(rendered: $0.html)) })
      ).renderText
  }

  /// The script of every page.
  package static let script = String(decoding: PackageResources.live_js, as: UTF8.self)
  /// The stylesheet of every page.
  package static let style =
    Templates.render(.style, ()).renderText
    + String(decoding: PackageResources.live_css, as: UTF8.self)
  /// The picture of the site, as SVG.
  package static let icon = String(decoding: PackageResources.icon_svg, as: UTF8.self)
}
