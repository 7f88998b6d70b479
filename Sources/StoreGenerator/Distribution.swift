/// Assigns each child at most one owner: the two sides of a one-to-many relationship.
///
/// The position of a child in a shuffled order determines owner and rank, so that ranks of one
/// owner are distinct and nothing is stored.
struct Distribution: Sendable {
  struct Limits: Sendable {
    /// The fewest children of an owner, if there are enough children.
    var minimum: Int64 = 0
    var maximum: Int64?
    /// Whether a child rather has no owner than one with more than the maximum, even if it must
    /// have one.
    var isStrict = false
  }

  private let owners: Int64
  private let limits: Limits
  private let isOptional: Bool
  private let isEven: Bool
  private let salt: UInt64
  private let childOrder: Permutation
  private let ownerOrder: Permutation

  /// The distribution without limits: of each four owners in the shuffled order the first has no
  /// children, the others have these.
  private static let places: [(owner: Int64, rank: Int64)] = [
    (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4),
  ]
  private static let ownersPerRound: Int64 = 4
  private static let ranksPerRound: Int64 = 5

  init(children: Int64, owners: Int64, isOptional: Bool, limits: Limits, salt: UInt64) {
    self.owners = owners
    self.limits = limits
    self.isOptional = isOptional
    self.salt = salt
    isEven = limits.minimum > 0 || limits.maximum != nil || owners < 2 * Self.ownersPerRound
    childOrder = Permutation(count: children, salt: Mixing.mix(salt, 1))
    ownerOrder = Permutation(count: owners, salt: Mixing.mix(salt, 2))
  }

  /// Whether children that must have an owner are more than the maximum allows.
  var exceedsMaximum: Bool {
    guard let maximum = limits.maximum, !isOptional, owners > 0 else { return false }
    return (childOrder.count + owners - 1) / owners > maximum
  }

  /// The owner of a child and the child's rank among its siblings; nil for none.
  func owner(of child: Int64) -> (ordinal: Int64, rank: Int64)? {
    guard owners > 0 else { return nil }
    let place = childOrder.preimage(child)
    let (owner, rank) = isEven ? (place % owners, place / owners) : uneven(place)
    if let maximum = limits.maximum, rank >= maximum, isOptional || limits.isStrict { return nil }
    if isOptional, rank >= limits.minimum,
      Mixing.mix(salt, UInt64(bitPattern: child)) % 8 == 0
    {
      return nil
    }
    return (ownerOrder.image(place: owner), rank)
  }

  private func uneven(_ place: Int64) -> (Int64, Int64) {
    let perRound = Int64(Self.places.count)
    let rounds = owners / Self.ownersPerRound
    let (round, lap) = ((place / perRound) % rounds, (place / perRound) / rounds)
    let (owner, rank) = Self.places[Int(place % perRound)]
    return (round * Self.ownersPerRound + owner, lap * Self.ranksPerRound + rank)
  }
}

/// Pairs objects of two populations one to one; both sides compute the same pairs.
struct Matching: Sendable {
  private let pairs: Int64
  private let isOptional: Bool
  private let salt: UInt64
  private let firstOrder: Permutation
  private let secondOrder: Permutation

  /// Pairs as many objects as possible; `isOptional` leaves some of both sides without a partner.
  init(first: Int64, second: Int64, isOptional: Bool, salt: UInt64) {
    pairs = min(first, second)
    self.isOptional = isOptional
    self.salt = salt
    firstOrder = Permutation(count: first, salt: Mixing.mix(salt, 1))
    secondOrder = Permutation(count: second, salt: Mixing.mix(salt, 2))
  }

  func second(of first: Int64) -> Int64? {
    partner(firstOrder.preimage(first)).map(secondOrder.image)
  }

  func first(of second: Int64) -> Int64? {
    partner(secondOrder.preimage(second)).map(firstOrder.image)
  }

  private func partner(_ pair: Int64) -> Int64? {
    guard pair < pairs else { return nil }
    if isOptional, Mixing.mix(salt, UInt64(bitPattern: pair)) % 8 == 0 { return nil }
    return pair
  }
}

/// Pairs the objects of one population with each other, for a to-one relationship that is its own
/// inverse.
struct Involution: Sendable {
  private let isOptional: Bool
  private let salt: UInt64
  private let order: Permutation

  init(count: Int64, isOptional: Bool, salt: UInt64) {
    self.isOptional = isOptional
    self.salt = salt
    order = Permutation(count: count, salt: Mixing.mix(salt, 1))
  }

  func partner(of object: Int64) -> Int64? {
    let place = order.preimage(object)
    // The last object of an uneven number can only be its own partner.
    guard place ^ 1 < order.count else { return isOptional ? nil : object }
    if isOptional, Mixing.mix(salt, UInt64(bitPattern: place >> 1)) % 8 == 0 { return nil }
    return order.image(place: place ^ 1)
  }
}
