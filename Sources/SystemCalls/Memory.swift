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

  // Parses bytes, without a string for each line: workers sample while they migrate rows.
  init?(parsing status: [UInt8]) {
    var kilobytes: [String: UInt64] = [:]
    for line in status.split(separator: UInt8(ascii: "\n")) {
      guard line.first == UInt8(ascii: "R") || line.first == UInt8(ascii: "V") else { continue }
      let digits = line.drop { !Self.digits.contains($0) }.prefix(while: Self.digits.contains)
      let name = line.prefix { $0 != UInt8(ascii: ":") }
      kilobytes[String(decoding: name, as: UTF8.self)] = UInt64(
        String(decoding: digits, as: UTF8.self))
    }
    guard let anonymous = kilobytes["RssAnon"] ?? kilobytes["VmRSS"] else { return nil }
    var total = anonymous
    for name in ["RssShmem", "VmSwap"] { total = total.saturatingAdd(kilobytes[name] ?? 0) }
    occupied = total.saturatingTimes(1024)
    residentPeak = (kilobytes["VmHWM"] ?? total).saturatingTimes(1024)
  }

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
}

extension UnsafeMutableRawPointer {
  /// Allocates a buffer for input and output, in pages of 2 MiB where possible: each write then
  /// pins far fewer pages.
  package static func allocateLarge(byteCount: Int) -> UnsafeMutableRawPointer {
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
