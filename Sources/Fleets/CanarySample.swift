/// A sample of stores over all their versions and sizes.
package enum CanarySample {
  /// Takes stores of each group in turn, spread over the group, until there are enough.
  package static func numbers(_ count: Int, from groups: [[Int]]) -> Set<Int> {
    var shares = [Int](repeating: 0, count: groups.count)
    var left = min(count, groups.reduce(0) { $0 + $1.count })
    while left > 0 {
      for index in groups.indices where left > 0 && shares[index] < groups[index].count {
        shares[index] += 1
        left -= 1
      }
    }
    var sample: Set<Int> = []
    for (group, share) in zip(groups, shares) where share > 0 {
      for place in 0..<share {
        let index = share == 1 ? 0 : place * (group.count - 1) / (share - 1)
        sample.insert(group[index])
      }
    }
    return sample
  }
}
