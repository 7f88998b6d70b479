import Synchronization
import SystemPackage

/// The memory of this process, in bytes.
package struct MemoryUse: Hashable, Sendable {
  /// What the process alone needs, in memory or swapped out: neither its code nor mapped files.
  package var occupied: UInt64
  /// The most that was ever resident at once, code and mapped files included.
  package var residentPeak: UInt64

  /// What the system tells now; nil where it does not.
  package static func current() -> MemoryUse? {
    guard let bytes = try? Files.readFile("/proc/self/status", limit: 65_536) else { return nil }
    return MemoryUse(parsing: String(decoding: bytes, as: UTF8.self))
  }

  init?(parsing status: String) {
    var kilobytes: [Substring: UInt64] = [:]
    for line in status.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" || $0 == ":" }
      if words.count == 3, words[2] == "kB" { kilobytes[words[0]] = UInt64(words[1]) }
    }
    guard let anonymous = kilobytes["RssAnon"] ?? kilobytes["VmRSS"] else { return nil }
    var total = anonymous
    for name: Substring in ["RssShmem", "VmSwap"] {
      total = total.saturatingAdd(kilobytes[name] ?? 0)
    }
    occupied = total.saturatingTimes(1024)
    residentPeak = (kilobytes["VmHWM"] ?? total).saturatingTimes(1024)
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

/// The most memory this process occupied at any time someone asked.
package final class PeakMemory: Sendable {
  private let bytes = Atomic<UInt64>(0)

  package init() {}

  /// Looks now, and tells the peak so far.
  @discardableResult
  package func sample() -> UInt64 {
    let now = MemoryUse.current()?.occupied ?? 0
    return bytes.max(now, ordering: .relaxed).newValue
  }
}
