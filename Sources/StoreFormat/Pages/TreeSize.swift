/// The size of a b-tree, estimated from its upper pages ("Database File Format", section 1.6).
package struct TreeSize: Sendable {
  /// Pages without those of overflow chains; nil where a page is not one of a b-tree.
  package private(set) var pages: Int64?

  private let file: SourceFile
  private let pageSize: Int
  private let most: Int64

  /// Reads the upper pages of the b-tree with this root page, counted from 1: at most some
  /// hundred, with samples for the others.
  package init(file: SourceFile, pageSize: Int, root: UInt32) {
    self.file = file
    self.pageSize = pageSize
    most = file.byteCount / Int64(pageSize)
    // Pages are not trusted: some may lead in circles.
    var budget = 4_096
    pages = count(below: root, budget: &budget).map { min($0, most) }
  }

  /// The maximum number of sampled children of a page; the others are similar.
  private static let mostSamples = 8

  private func count(below number: UInt32, budget: inout Int) -> Int64? {
    budget -= 1
    guard budget > 0, let page = BTreePage(file: file, pageSize: pageSize, number: number)
    else { return nil }
    guard page.isInterior else { return 1 }
    let children = page.children
    guard let last = children.last else { return nil }
    // The last one may have just begun.
    let others = children.dropLast()
    let step = max(1, others.count / Self.mostSamples)
    var sampled: Int64 = 0
    var sum: Int64 = 0
    for place in stride(from: 0, to: others.count, by: step) {
      guard let found = count(below: others[place], budget: &budget) else { return nil }
      sampled += 1
      sum = min(most, sum + found)
      // Siblings of leaves are leaves.
      if found == 1 { return 1 + Int64(children.count) }
    }
    guard let end = count(below: last, budget: &budget) else { return nil }
    return 1 + end + (sampled == 0 ? 0 : sum * Int64(others.count) / sampled)
  }
}
