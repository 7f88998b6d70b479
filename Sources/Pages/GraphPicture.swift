/// Tables in groups and what joins them, as boxes and lines.
///
/// It has a size of its own, and can stand alone as a file.
package struct GraphPicture: Sendable {
  /// A table.
  package struct Node: Hashable, Sendable {
    /// Its name, by which edges find it.
    package var name: String
    /// What is known of it, in a few words.
    package var note: String

    /// Takes a name that no other node has.
    package init(_ name: String, note: String) { (self.name, self.note) = (name, note) }
  }

  /// Nodes that belong together.
  package struct Group: Hashable, Sendable {
    /// What the group is.
    package var label: String
    /// Its nodes; each belongs to one group.
    package var nodes: [Node]

    /// Takes nodes that belong to no other group.
    package init(_ label: String, _ nodes: [Node]) { (self.label, self.nodes) = (label, nodes) }
  }

  /// What joins two nodes, or a node with itself.
  package struct Edge: Hashable, Sendable {
    /// The names of its nodes.
    package var from, to: String
    /// What it is.
    package var label: String
    /// Whether different processes make its two ends.
    package var isCut: Bool

    /// Takes the names of two nodes.
    package init(from: String, to: String, label: String, isCut: Bool) {
      (self.from, self.to, self.label, self.isCut) = (from, to, label, isCut)
    }
  }

  private let groups: [Group]
  private let edges: [Joint]

  /// All edges between two nodes.
  private struct Joint {
    let from, to: String
    var labels: [String]
    var isCut: Bool
  }

  /// Takes groups from top to bottom; edges to nodes that there are not are left out.
  package init(_ groups: [Group], edges: [Edge]) {
    let names = Set(groups.flatMap(\.nodes).map(\.name))
    var joints: [[String]: Joint] = [:]
    for edge in edges where names.contains(edge.from) && names.contains(edge.to) {
      let ends = [edge.from, edge.to].sorted()
      joints[ends, default: Joint(from: ends[0], to: ends[1], labels: [], isCut: false)]
        .labels.append(edge.label)
      if edge.isCut { joints[ends]?.isCut = true }
    }
    let edges = joints.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      var joint = $0.value
      joint.labels.sort()
      return joint
    }
    self.groups = groups.map { group in
      Group(group.label, Self.ordered(group.nodes, by: edges))
    }
    self.edges = edges
  }

  /// The nodes so that joined ones are near each other: breadth first, from the most joined one.
  private static func ordered(_ nodes: [Node], by edges: [Joint]) -> [Node] {
    var neighbours: [String: [String]] = [:]
    for edge in edges where edge.from != edge.to {
      neighbours[edge.from, default: []].append(edge.to)
      neighbours[edge.to, default: []].append(edge.from)
    }
    func degree(_ name: String) -> Int { neighbours[name]?.count ?? 0 }
    let byName = Dictionary(nodes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var seen: Set<String> = []
    var order: [Node] = []
    for start in nodes.sorted(by: { (degree($1.name), $0.name) < (degree($0.name), $1.name) })
    where seen.insert(start.name).inserted {
      var queue = [start.name]
      while !queue.isEmpty {
        let name = queue.removeFirst()
        if let node = byName[name] { order.append(node) }
        for next in (neighbours[name] ?? []).sorted() where byName[next] != nil {
          if seen.insert(next).inserted { queue.append(next) }
        }
      }
    }
    return order
  }

  // MARK: Drawing

  private struct Values {
    struct Group {
      let label: Markup
      let y, width, height, labelY: Length
      let nodes: [Node]
    }
    struct Node {
      let x, y, textX, nameY, noteY: Length
      let name, note, title: Markup
    }
    struct Edge {
      let kind: String
      let path: String
      let title: Markup
    }
    let isAlone: Bool
    let width, height: Length
    let style: Markup?
    let groups: [Group]
    let edges: [Edge]
    let description: Markup
  }

  private static let node = (width: 184.0, height: 44.0)
  private static let gap = (x: 44.0, y: 34.0)
  private static let pad = (side: 18.0, top: 46.0, bottom: 18.0)

  /// The picture as an element of SVG within a page.
  package var svg: Markup { drawn(isAlone: false) }

  /// How every `file` begins, and every `dot`.
  package static let (fileBeginning, dotBeginning) = (
    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\"", "graph migration {"
  )

  /// The picture as a file of its own.
  package var file: String { drawn(isAlone: true).renderText }

  private func drawn(isAlone: Bool) -> Markup {
    var places: [String: (x: Double, y: Double)] = [:]
    var (top, widest) = (0.0, 0.0)
    var boxes: [(group: Group, top: Double, height: Double)] = []
    for group in groups {
      let columns = min(5, max(1, Int(Double(group.nodes.count).squareRoot().rounded(.up))))
      let rows = (group.nodes.count + columns - 1) / columns
      for (index, node) in group.nodes.enumerated() {
        places[node.name] = (
          Self.pad.side + Double(index % columns) * (Self.node.width + Self.gap.x),
          top + Self.pad.top + Double(index / columns) * (Self.node.height + Self.gap.y)
        )
      }
      let height =
        Self.pad.top + Double(rows) * (Self.node.height + Self.gap.y) - Self.gap.y + Self.pad.bottom
      let width = Double(columns) * (Self.node.width + Self.gap.x) - Self.gap.x + 2 * Self.pad.side
      boxes.append((group, top, height))
      (top, widest) = (top + height + 14, max(widest, width))
    }
    let values = Values(
      isAlone: isAlone, width: .pixels(widest + 2), height: .pixels(max(0, top - 14) + 2),
      style: isAlone ? Templates.render(.style, ()) : nil,
      groups: boxes.map { group, top, height in
        .init(
          label: Markup(group.label), y: .pixels(top + 1), width: .pixels(widest),
          height: .pixels(height), labelY: .pixels(top + 20),
          nodes: group.nodes.compactMap { node in places[node.name].map { drawn(node, at: $0) } })
      },
      edges: edges.compactMap { edge in
        guard let from = places[edge.from], let to = places[edge.to] else { return nil }
        return drawn(edge, from: from, to: to)
      }, description: "Tables and the relationships between them")
    return Templates.render(.graph, values)
  }

  private func drawn(_ node: Node, at place: (x: Double, y: Double)) -> Values.Node {
    .init(
      x: .pixels(place.x), y: .pixels(place.y), textX: .pixels(place.x + 10),
      nameY: .pixels(place.y + 19), noteY: .pixels(place.y + 35),
      name: Markup(Self.shortened(node.name)), note: Markup(node.note),
      title: Markup("\(node.name): \(node.note)"))
  }

  /// The beginning and the end of a name that is too long for a box.
  private static func shortened(_ name: String) -> String {
    name.count <= 23 ? name : "\(name.prefix(12))…\(name.suffix(10))"
  }

  private func drawn(
    _ edge: Joint, from: (x: Double, y: Double), to: (x: Double, y: Double)
  ) -> Values.Edge {
    let (w, h) = (Self.node.width, Self.node.height)
    func p(_ x: Double, _ y: Double) -> String { "\(Length.pixels(x)) \(Length.pixels(y))" }
    let path: String
    if edge.from == edge.to {
      let (x, y) = (from.x + w, from.y)
      path = "M \(p(x - 26, y)) C \(p(x - 26, y - 22)) \(p(x + 22, y - 10)) \(p(x, y + 14))"
    } else if from.y == to.y, abs(from.x - to.x) <= w + Self.gap.x + 1 {
      let (left, right) = (min(from.x, to.x) + w, max(from.x, to.x))
      path = "M \(p(left, from.y + h / 2)) L \(p(right, from.y + h / 2))"
    } else {
      let (x1, x2) = (from.x + w / 2, to.x + w / 2)
      let isLevel = from.y == to.y
      let (y1, y2) =
        isLevel ? (from.y, to.y) : from.y < to.y ? (from.y + h, to.y) : (from.y, to.y + h)
      let bend = isLevel ? -24.0 : (y2 - y1) / 2
      let second = isLevel ? y2 - 24 : y2 - bend
      path = "M \(p(x1, y1)) C \(p(x1, y1 + bend)) \(p(x2, second)) \(p(x2, y2))"
    }
    return .init(
      kind: edge.isCut ? "edge cut" : "edge", path: path,
      title: Markup(edge.labels.joined(separator: ", ")))
  }
}

extension GraphPicture {
  /// The graph in the language of Graphviz.
  package var dot: String {
    var lines = [Self.dotBeginning, "  node [shape=box];"]
    for (number, group) in zip(1..., groups) {
      lines.append("  subgraph cluster_\(number) {")
      lines.append("    label=\(Self.quoted([group.label]));")
      lines += group.nodes.map {
        "    \(Self.quoted([$0.name])) [label=\(Self.quoted([$0.name, $0.note]))];"
      }
      lines.append("  }")
    }
    lines += edges.map { edge in
      let style = edge.isCut ? ", style=dashed" : ""
      let label = Self.quoted([edge.labels.joined(separator: ", ")])
      return "  \(Self.quoted([edge.from])) -- \(Self.quoted([edge.to])) [label=\(label)\(style)];"
    }
    return (lines + ["}", ""]).joined(separator: "\n")
  }

  /// Lines of text in quotation marks.
  private static func quoted(_ lines: [String]) -> String {
    let escaped = lines.map { line in
      Markup.shown(line).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
    return "\"\(escaped.joined(separator: "\\n"))\""
  }
}
