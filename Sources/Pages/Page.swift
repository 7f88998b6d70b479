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
      /// A name of any length, which breaks where it has to.
      case name
      /// A sentence, which keeps a width at which people can read it.
      case sentence
      /// A number, which is set to the right.
      case number
      /// Something that is as it should be, that is not, or that is neither.
      case good, bad, quiet
    }

    let text: Markup
    let kind: String
    let address: Markup?
    /// The heading of its column, where narrow screens set the cells of a row one below the other.
    fileprivate(set) var label = Markup("")

    /// Takes a text of any origin, and the address of a page about it.
    package init(_ text: String, _ kind: Kind = .text, at address: String? = nil) {
      (self.text, self.kind) = (Markup(text), kind.rawValue)
      self.address = address.map { Markup($0) }
    }
  }

  /// Rows under headings.
  package struct Table: Hashable, Sendable {
    struct Row: Hashable, Sendable {
      let cells: [Cell]
    }

    let headings: [Cell]
    let rows: [Row]
    let isStacked: Bool

    /// Takes rows with as many cells as there are headings.
    ///
    /// - Parameter isStacked: whether narrow screens set the cells of a row one below the other.
    package init(_ headings: [Cell], _ rows: [[Cell]], isStacked: Bool = false) {
      (self.headings, self.isStacked) = (headings, isStacked)
      self.rows = rows.map { cells in
        guard isStacked else { return Row(cells: cells) }
        return Row(
          cells: zip(cells, headings).map { cell, heading in
            var cell = cell
            cell.label = heading.text
            return cell
          })
      }
    }
  }

  /// Whether a state is good, paused or bad.
  package enum Tone: String, Hashable, Sendable {
    case good, held, bad
  }

  /// A state in a word or two, with its description.
  package struct Badge: Hashable, Sendable {
    let text, note: Markup
    let tone: String

    /// Takes texts of any origin.
    package init(_ text: String, _ tone: Tone, note: String = "") {
      (self.text, self.note, self.tone) = (Markup(text), Markup(note), tone.rawValue)
    }
  }

  /// How much of something is done.
  package struct Bar: Hashable, Sendable {
    let thousandths: Int
    let tone: String
    let label: Markup

    /// Takes a share of 0...1, and words for it.
    package init(_ fraction: Double, _ tone: Tone, label: String) {
      thousandths = fraction.isFinite ? Int(min(max(0, fraction), 1) * 1000) : 0
      (self.tone, self.label) = (tone.rawValue, Markup(label))
    }
  }

  /// One of several things that have pages of their own.
  package struct Card: Hashable, Sendable {
    let address, name: Markup
    let badge: Badge
    let bar: Bar?
    let remarks: [Markup]

    /// Takes the address of the page, and its description.
    package init(
      _ name: String, at address: String, badge: Badge, bar: Bar?, remarks: [String]
    ) {
      (self.name, self.address) = (Markup(name), Markup(address))
      (self.badge, self.bar) = (badge, bar)
      self.remarks = remarks.map { Markup($0) }
    }
  }

  /// A button for a request, with a field next to it.
  package struct Form: Hashable, Sendable {
    /// What readers write.
    package struct Field: Hashable, Sendable {
      let name, caption, value: Markup

      /// Takes the name under which it is sent, and what stands there at first.
      package init(_ name: String, _ caption: String, value: String) {
        (self.name, self.caption, self.value) = (Markup(name), Markup(caption), Markup(value))
      }
    }

    let action, key, button: Markup
    let field: Field?

    /// Takes the address to which it is sent, and a key that other pages do not know.
    package init(_ button: String, to action: String, key: String, field: Field? = nil) {
      (self.button, self.action, self.key) = (Markup(button), Markup(action), Markup(key))
      self.field = field
    }
  }

  /// A part of the page under a heading of its own.
  package struct Section: Sendable {
    let title: Markup
    let isTitled: Bool
    /// The state that it is about.
    package var badge: Badge?
    /// How much is done.
    package var bar: Bar?
    /// Things that have pages of their own.
    package var cards: [Card] = []
    /// The requests that readers may send.
    package var forms: [Form] = []
    /// The text of the section, a paragraph each.
    package var lines: [Markup] = []
    /// Pictures one below the other.
    package var pictures: [Markup] = []
    /// Whether its pictures keep their size, and are moved where the page is narrower.
    package var picturesAreWide = false
    /// Facts side by side.
    package var facts: [Fact] = []
    /// A table.
    package var table: Table?
    /// Text that follows the table, a paragraph each.
    package var closing: [Markup] = []
    /// What the colours of the pictures mean.
    package var legend: [Legend] = []
    /// More of the same, which readers open.
    package var details: Details?

    /// Creates an empty section; without a title it has no heading.
    package init(_ title: String = "") {
      (self.title, isTitled) = (Markup(title), !title.isEmpty)
    }

    /// The section as elements of HTML.
    var html: Markup { Templates.render(.section, SectionValues(self)) }
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

  /// A section as templates see it: an empty list of cards is no list.
  private struct SectionValues {
    let title: Markup
    let isTitled: Bool
    let badge: Badge?
    let bar: Bar?
    let lines: [Markup]
    let pictures: [Markup]
    let picturesAreWide: Bool
    let facts: [Fact]
    let table: Table?
    let closing: [Markup]
    let legend: [Legend]
    let details: Details?
    let isListed: Bool
    let cards: [Card]
    let forms: [Form]

    init(_ section: Section) {
      (title, isTitled) = (section.title, section.isTitled)
      (badge, bar, lines) = (section.badge, section.bar, section.lines)
      (pictures, picturesAreWide) = (section.pictures, section.picturesAreWide)
      (facts, table, legend) = (section.facts, section.table, section.legend)
      closing = section.closing
      (details, cards, forms) = (section.details, section.cards, section.forms)
      isListed = !section.cards.isEmpty
    }
  }

  private struct Values {
    let generator, title, outcome, subtitle: Markup
    let tone: String
    let style: Markup
    let sections: [Markup]
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
          style: Templates.render(.style, ()), sections: sections.map(\.html))
      ).renderText
  }
}
