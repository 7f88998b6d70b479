/// A page of HTML that needs no other file, for screens of any width, light and dark.
package struct Page: Sendable {
  /// A name with its value.
  package struct Fact: Hashable, Sendable {
    let name, value: Markup

    /// Takes texts of any origin.
    package init(_ name: String, _ value: String) {
      (self.name, self.value) = (Markup(name), Markup(value))
    }
  }

  /// A cell of a table.
  package struct Cell: Hashable, Sendable {
    /// What a cell holds, which decides how it is set.
    package enum Kind: String, Hashable, Sendable {
      /// A text.
      case text
      /// A number, which is set to the right.
      case number
      /// Something that is as it should be, that is not, or that is neither.
      case good, bad, quiet
    }

    let text: Markup
    let kind: String

    /// Takes a text of any origin.
    package init(_ text: String, _ kind: Kind = .text) {
      (self.text, self.kind) = (Markup(text), kind.rawValue)
    }
  }

  /// Rows under headings.
  package struct Table: Hashable, Sendable {
    struct Row: Hashable, Sendable {
      let cells: [Cell]
    }

    let headings: [Cell]
    let rows: [Row]

    /// Takes rows with as many cells as there are headings.
    package init(_ headings: [Cell], _ rows: [[Cell]]) {
      (self.headings, self.rows) = (headings, rows.map { Row(cells: $0) })
    }
  }

  /// A part of the page under a heading of its own.
  package struct Section: Sendable {
    let title: Markup
    /// What the section says, a paragraph each.
    package var lines: [Markup] = []
    /// Pictures one below the other.
    package var pictures: [Markup] = []
    /// Whether its pictures keep their size, and are moved where the page is narrower.
    package var picturesAreWide = false
    /// Facts side by side.
    package var facts: [Fact] = []
    /// A table.
    package var table: Table?
    /// What the colours of the pictures mean.
    package var legend: [Legend] = []
    /// More of the same, which readers open.
    package var details: Details?

    /// Creates an empty section.
    package init(_ title: String) { self.title = Markup(title) }
  }

  /// What a colour means.
  package struct Legend: Hashable, Sendable {
    let tone, text: Markup

    /// Takes the class of a colour, such as `tone1` or `new`.
    package init(_ tone: String, _ text: String) {
      (self.tone, self.text) = (Markup(tone), Markup(text))
    }
  }

  /// Lines that readers open.
  package struct Details: Hashable, Sendable {
    let title: Markup
    let lines: [Markup]

    /// Takes lines whose blanks at the beginning count.
    package init(_ title: String, _ lines: [String]) {
      (self.title, self.lines) = (Markup(title), lines.map { Markup($0) })
    }
  }

  private struct Values {
    let generator, title, outcome, subtitle: Markup
    let tone: String
    let style: Markup
    let sections: [Section]
  }

  /// The mark by which a page is known as one of Godwit's; it stands in the first kilobyte.
  package static let mark = "<meta name=\"generator\" content=\"Godwit"

  /// The page as HTML.
  package let html: String

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - generator: the version of the program.
  ///   - title: what the page is about.
  ///   - outcome: how it ended, in a word or two.
  ///   - isGood: whether that is as it should be.
  ///   - subtitle: more of it in a line.
  package init(
    generator: String, title: String, outcome: String, isGood: Bool, subtitle: String,
    sections: [Section]
  ) {
    html =
      Templates.render(
        .page,
        Values(
          generator: Markup(generator), title: Markup(title), outcome: Markup(outcome),
          subtitle: Markup(subtitle), tone: isGood ? "good" : "bad",
          style: Templates.render(.style, ()), sections: sections)
      ).renderText
  }
}
