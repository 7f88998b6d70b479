import SystemCalls
import SystemPackage

/// Looks after several stores: small ones several at a time, two for each processor, since one
/// waits for the disk a third of its time, and those of 64 MiB and more after them, one at a time.
struct StoreQueue: Sendable {
  /// How many stores are small, and taken at once.
  let atOnce: Int
  private let paths: [FilePath]
  private let small: [Int]

  private static let (mostAtOnce, largeBytes): (Int, Int64) = (8, 64 << 20)

  /// Takes the stores, and how many may be taken at once, whatever the machine allows.
  init(_ paths: [FilePath], atMost most: Int = .max) {
    self.paths = paths
    small = paths.indices.filter { index in
      let bytes = (try? Files.fileStatusIfPresent(paths[index])?.size) ?? 0
      return bytes < Self.largeBytes
    }
    let processors = ThreadPool.processors
    atOnce = max(1, min(Self.mostAtOnce, 2 * processors, most, small.count))
  }

  /// What a closure answers for each store, in the order of the stores.
  ///
  /// - Parameter body: is given the place of a store, and whether it is one of the small ones.
  func answers<Answer: Sendable>(
    _ body: @escaping @Sendable (_ index: Int, _ isSmall: Bool) async -> Answer
  ) async -> [Answer] {
    var answers = await Self.answers(small, atOnce: atOnce) { await body($0, true) }
    for index in paths.indices where answers[index] == nil {
      answers[index] = await body(index, false)
    }
    return paths.indices.compactMap { answers[$0] }
  }

  /// What a closure answers for each of some numbers; a few are taken at once.
  static func answers<Answer: Sendable>(
    _ numbers: [Int], atOnce: Int, _ body: @escaping @Sendable (Int) async -> Answer
  ) async -> [Int: Answer] {
    var answers: [Int: Answer] = [:]
    await withTaskGroup(of: (Int, Answer).self) { group in
      var waiting = numbers[...]
      for _ in 0..<atOnce {
        guard let next = waiting.popFirst() else { break }
        group.addTask { (next, await body(next)) }
      }
      while let (number, answer) = await group.next() {
        answers[number] = answer
        guard let next = waiting.popFirst() else { continue }
        group.addTask { (next, await body(next)) }
      }
    }
    return answers
  }
}
