import Testing

@testable import Pages

@Suite("Pictures and pages")
struct PictureTests {
  private static let hostile =
    "\"\u{301} onload=x <script>alert('&')</script>\u{1B}[2J\u{202E}\u{FFFF}"

  @Test func `no text ends an attribute, opens an element or controls a terminal`() {
    let text = Markup(Self.hostile).renderText.unicodeScalars
    for scalar in "\"<>'\u{1B}\u{202E}\u{FFFF}".unicodeScalars {
      #expect(!text.contains(scalar))
    }
    #expect(Markup("a & b").renderText == "a &amp; b")
    #expect(Markup("Größe 值 🜁").renderText == "Größe 值 🜁")
  }

  @Test func `a table for narrow screens has the heading at each cell, and text that follows it`() {
    var section = Page.Section("Reasons")
    section.table = .init([.init("place"), .init("code")], [[.init("A.b"), .init("")]])
    #expect(!section.html.renderText.contains("data-label"))
    section.table = .init(
      [.init("place"), .init("code & cause")], [[.init("A.b"), .init("")]], isStacked: true)
    section.closing = [Markup("Then this.")]
    let html = section.html.renderText
    #expect(Page.Cell("a.sqlite", .name).kind == "name")
    #expect(html.contains("<table class=\"stacked\">"))
    #expect(html.contains("<td class=\"text\" data-label=\"place\">A.b</td>"))
    #expect(html.contains("data-label=\"code &amp; cause\"></td>"))
    #expect(html.contains("</table></div>\n<p>Then this.</p>"))
  }

  @Test func `hostile texts come through every picture and page escaped`() {
    let name = Self.hostile
    let timeline = TimelinePicture(
      [.init(label: name, bars: [.init(from: 0, to: 1, title: name, tone: 0)])], to: 1)
    let curve = CurvePicture(name, [.init(0, 1)], to: 1, limit: (2, name)) { _ in name }
    let graph = GraphPicture(
      [.init(name, [.init(name, note: name)])],
      edges: [.init(from: name, to: name, label: name, isCut: true)])
    let pairs = PairsPicture(name, name, [.init(old: name, new: name, fate: .renamed, note: name)])
    var section = Page.Section(name)
    section.lines = [Markup(name)]
    section.pictures = [timeline.svg, curve.svg, graph.svg, pairs.svg]
    section.facts = [.init(name, name)]
    section.table = .init([.init(name)], [[.init(name, .bad)]])
    section.legend = [.init("tone0", name)]
    section.details = .init(name, [name])
    let page = Page(
      generator: name, title: name, outcome: name, isGood: false, subtitle: name,
      sections: [section])
    for text in [graph.file, page.html] {
      #expect(!text.contains("<script"))
      #expect(!text.unicodeScalars.contains("\u{1B}"))
      #expect(!text.unicodeScalars.contains("\u{301}") || !text.unicodeScalars.contains("\u{202E}"))
    }
    // Once for each place of a text: nothing was left out.
    #expect(page.html.components(of: "&lt;script&gt;") >= 24)
    #expect(page.html.contains(Page.mark))
  }

  @Test(
    arguments: [
      (0, "0"), (12.5, "12.5"), (12.25, "12.25"), (12.057, "12.06"), (-0.5, "-0.5"),
      (1e300, "1000000"),
      (.nan, "0"), (.infinity, "0"),
    ] as [(Double, String)])
  func `lengths have at most two decimals and no exponent`(value: Double, text: String) {
    #expect("\(Length.pixels(value))" == text)
  }

  @Test func `shares are percentages`() { #expect("\(Length.share(0.25))" == "25%") }

  @Test(arguments: [0.003, 0.9, 7, 59, 61, 3599, 86_400, 1e9])
  func `an axis has some marks, all of them on it`(end: Double) {
    let marks = TimeAxis(to: end).marks
    #expect((1...7).contains(marks.count))
    #expect(marks[0].label == "0 s")
  }

  @Test(arguments: [0, -1, .nan, .infinity] as [Double])
  func `an axis of nothing has its beginning`(end: Double) {
    #expect(TimeAxis(to: end).marks.map(\.label) == ["0 s"])
  }

  @Test(arguments: [(0.2, "0.2 s"), (60, "1 min"), (90, "1 min 30 s"), (4800, "1 h 20 min")])
  func `times are told in their own units`(time: Double, label: String) {
    #expect(TimeAxis.label(of: time) == label)
  }

  @Test func `a bar of no length and one beyond the end can be seen`() {
    let svg = TimelinePicture(
      [
        .init(
          label: "a",
          bars: [
            .init(from: 9, to: 9, title: "b", tone: 9),
            .init(from: 20, to: 30, title: "c", tone: 0, isBad: true),
          ])
      ],
      to: 10
    ).svg.renderText
    #expect(svg.contains(#"<rect class="tone1" x="90%" y="15" width="0.2%""#))
    #expect(svg.contains(#"<rect class="bad" x="99.8%" y="15" width="0.2%""#))
  }

  @Test func `a curve keeps within its frame`() {
    let svg = CurvePicture("rows", [.init(0, 0), .init(5, 50), .init(10, 100)], to: 10) {
      "\(Int($0))"
    }
    .svg.renderText
    #expect(svg.contains(#"points="0,100 500,50 1000,0""#))
    #expect(svg.contains("at most 100"))
    let empty = CurvePicture("rows", [], to: 0) { "\($0)" }.svg.renderText
    #expect(empty.contains(#"<polyline class="curve" points=""/>"#))
  }

  @Test func `edges of two tables are one line, and those to unknown tables none`() {
    let graph = GraphPicture(
      [.init("partition 1", [.init("A", note: ""), .init("B", note: "")])],
      edges: [
        .init(from: "A", to: "B", label: "ZB", isCut: false),
        .init(from: "B", to: "A", label: "ZA", isCut: true),
        .init(from: "A", to: "A", label: "ZPARENT", isCut: false),
        .init(from: "A", to: "C", label: "ZC", isCut: false),
      ])
    let svg = graph.svg.renderText
    #expect(svg.components(of: "<path") == 2)
    #expect(svg.contains("<title>ZA, ZB</title>"))
    #expect(svg.components(of: #"class="edge cut""#) == 1)
    #expect(
      graph.dot == """
        graph migration {
          node [shape=box];
          subgraph cluster_1 {
            label="partition 1";
            "A" [label="A\\n"];
            "B" [label="B\\n"];
          }
          "A" -- "A" [label="ZPARENT"];
          "A" -- "B" [label="ZA, ZB", style=dashed];
        }

        """)
  }

  @Test func `names in the language of Graphviz end no quotation`() {
    let dot = GraphPicture([.init("a\"b\\", [.init("x\n\"];", note: "")])], edges: []).dot
    #expect(dot.contains(#"label="a\"b\\";"#))
    #expect(dot.contains(#""x\\n\"];" [label="x\\n\"];\n"];"#))
  }

  @Test func `joined tables stand beside each other`() {
    let nodes = ["A", "B", "C", "D"].map { GraphPicture.Node($0, note: "") }
    let graph = GraphPicture(
      [.init("p", nodes)],
      edges: [("D", "A"), ("D", "B"), ("D", "C")].map {
        .init(from: $0.0, to: $0.1, label: "", isCut: false)
      })
    let order = graph.dot.split(separator: "\n").filter { $0.hasPrefix("    \"") }.map {
      $0.dropFirst(5).first
    }
    #expect(order == ["D", "A", "B", "C"])
  }
}

extension String {
  fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
