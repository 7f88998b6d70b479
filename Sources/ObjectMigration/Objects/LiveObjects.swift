/// Finds the objects in memory by their tables and keys; holds none of them.
///
/// Every object is inserted, looked up and removed, so this is called more often than anything
/// else. A table with open addressing, whose places a random factor decides: no choice of keys
/// makes it slow.
struct LiveObjects {
  private struct Slot {
    var object: Unmanaged<ManagedObject>?
    var key = ManagedObject.Key(table: 0, key: 0)
  }

  private var slots = [Slot](repeating: Slot(), count: 64)
  private(set) var count = 0
  private let factor = UInt64.random(in: 0...UInt64.max) | 1

  /// Where the search for a key begins; the highest bits of a product depend on all others.
  private func home(_ key: ManagedObject.Key) -> Int {
    let mixed = UInt64(bitPattern: key.key) ^ UInt64(truncatingIfNeeded: key.table) << 48
    let bits = slots.count.trailingZeroBitCount
    return Int(truncatingIfNeeded: (mixed &* factor) >> UInt64(64 - bits))
  }

  /// The slot of a key, or the free one where it would go.
  private func slot(_ key: ManagedObject.Key) -> Int {
    let mask = slots.count - 1
    var place = home(key)
    while slots[place].object != nil, slots[place].key != key { place = (place + 1) & mask }
    return place
  }

  /// The object of a key, if there is one.
  subscript(key: ManagedObject.Key) -> Unmanaged<ManagedObject>? {
    count == 0 ? nil : slots[slot(key)].object
  }

  /// Inserts an object, replacing another one with that key.
  mutating func insert(_ object: ManagedObject) {
    let key = object.key
    var place = slot(key)
    if slots[place].object == nil {
      count += 1
      if count * 2 > slots.count {
        grow()
        place = slot(key)
      }
    }
    slots[place] = Slot(object: Unmanaged.passUnretained(object), key: key)
  }

  private mutating func grow() {
    let old = slots
    slots = [Slot](repeating: Slot(), count: old.count * 2)
    for entry in old where entry.object != nil { slots[slot(entry.key)] = entry }
  }

  /// Takes an object out, unless another one has its place.
  mutating func remove(_ object: ManagedObject) {
    guard count > 0 else { return }
    var hole = slot(object.key)
    guard slots[hole].object?.toOpaque() == Unmanaged.passUnretained(object).toOpaque() else {
      return
    }
    count -= 1
    // What would no longer be found behind the hole moves into it.
    let mask = slots.count - 1
    var next = (hole + 1) & mask
    while slots[next].object != nil {
      let distance = (next - home(slots[next].key)) & mask
      if distance >= (next - hole) & mask {
        slots[hole] = slots[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    slots[hole].object = nil
  }
}
