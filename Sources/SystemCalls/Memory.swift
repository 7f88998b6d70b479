import CSystemShims
import Synchronization
import SystemPackage

/// The memory of this process, in bytes.
package struct MemoryUse: Hashable, Sendable {
  /// Memory of the process alone, resident or swapped out: without code and mapped files.
  package var occupied: UInt64
  /// The largest resident set so far, including code and mapped files.
  package var residentPeak: UInt64

  /// The present numbers, nil where the system has no `/proc/self/status`.
  package static func current() -> MemoryUse? {
    guard let bytes = try? Files.readFile("/proc/self/status", limit: 65_536) else { return nil }
    return MemoryUse(parsing: bytes)
  }

  // Parses bytes, without strings: workers sample while they migrate rows.
  init?(parsing status: [UInt8]) {
    let lines = status.split(separator: UInt8(ascii: "\n"))
    func kilobytes(_ name: String) -> UInt64? {
      guard let line = lines.first(where: { $0.starts(with: name.utf8) }) else { return nil }
      let digits = line.drop { !Self.digits.contains($0) }.prefix(while: Self.digits.contains)
      guard !digits.isEmpty else { return nil }
      return digits.reduce(0) { number, digit in
        number.saturatingTimes(10).saturatingAdd(UInt64(digit - Self.digits.lowerBound))
      }
    }
    guard let anonymous = kilobytes("RssAnon:") ?? kilobytes("VmRSS:") else { return nil }
    var total = anonymous
    for name in ["RssShmem:", "VmSwap:"] { total = total.saturatingAdd(kilobytes(name) ?? 0) }
    occupied = total.saturatingTimes(1024)
    residentPeak = (kilobytes("VmHWM:") ?? total).saturatingTimes(1024)
  }

  /// Has all threads of this process allocate from one heap, before the first of them starts.
  ///
  /// Each thread's own heap keeps what its largest work needed, so a process that lives long grows
  /// with the number of works.
  package static func shareHeap() { csystem_share_heap() }

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
}

extension UnsafeMutableRawPointer {
  /// Allocates a buffer for input and output, in pages of 2 MiB where possible: each write then
  /// pins far fewer pages.
  package static func allocateLarge(byteCount: Int) -> UnsafeMutableRawPointer {
    // Less than one such page would take as much time to clear as all of it.
    guard byteCount >= 2 << 20 else { return .allocate(byteCount: byteCount, alignment: 4096) }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 2 << 20)
    // A hint: small pages do as well, only slower.
    _ = csystem_prefer_large_pages(memory, byteCount)
    return memory
  }
}

extension UInt64 {
  fileprivate func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  fileprivate func saturatingTimes(_ other: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }
}

/// The largest memory use of this process among all samples.
package final class PeakMemory: Sendable {
  private let bytes = Atomic<UInt64>(0)

  /// Starts without a sample.
  package init() {}

  /// The largest sample so far, in bytes; 0 before the first.
  package var peak: UInt64 { bytes.load(ordering: .relaxed) }

  /// Takes a sample, and returns the largest so far.
  @discardableResult
  package func sample() -> UInt64 {
    let now = MemoryUse.current()?.occupied ?? 0
    return bytes.max(now, ordering: .relaxed).newValue
  }
}
