import CSystemShims
import Synchronization
package import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Processes {
  /// Other processes that have a file open for writing, as far as the system shows it: those of
  /// this user, or of all where this one may see them, that opened it by this name.
  ///
  /// - Parameters:
  ///   - path: the name, without links.
  ///   - file: the file: in another container the name may be that of another one.
  package static func writers(of path: FilePath, being file: FileStatus) -> [Int32] {
    Set(
      FileWriters.find(path).filter { $0.file?.isSameFile(as: file) ?? true }.map(\.process)
    ).sorted()
  }
}

/// Searches the open files of all processes, once for all threads that wait for an answer.
private enum FileWriters {
  /// A process and the file that it has open; nil where the system does not show which one it is.
  struct Writer: Sendable {
    let process: Int32
    let file: FileStatus?
  }

  /// A question of one thread.
  private final class Question: Sendable {
    let path: [UInt8]
    let answer = Mutex<[Writer]?>(nil)

    init(_ path: FilePath) { self.path = Array(path.string.utf8) }
  }

  private static let waiting = Mutex<[Question]>([])
  /// Held by the thread that searches.
  private static let search = Mutex<Void>(())

  /// Finds the writers in a search that begins after the call.
  static func find(_ path: FilePath) -> [Writer] {
    let question = Question(path)
    waiting.withLock { $0.append(question) }
    return search.withLock { _ in
      // The thread before this one may have answered, but only if it began after the question.
      if let answer = question.answer.withLock({ $0 }) { return answer }
      let questions = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      let found = writers(of: Set(questions.map(\.path)))
      for other in questions { other.answer.withLock { $0 = found[other.path] ?? [] } }
      return found[question.path] ?? []
    }
  }

  private static func writers(of paths: Set<[UInt8]>) -> [[UInt8]: [Writer]] {
    let lengths = Set(paths.map(\.count))
    var found: [[UInt8]: [Writer]] = [:]
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    forEachNumber(in: "/proc") { process in
      guard process != Processes.own else { return }
      forEachNumber(in: "/proc/\(process)/fd") { file in
        // Only the text of the link is read, not the file, which may wait for another machine.
        let count = readlink("/proc/\(process)/fd/\(file)", &text, text.count)
        guard count > 0, lengths.contains(count) else { return }
        let path = text[..<count].map { UInt8(bitPattern: $0) }
        guard paths.contains(path), isForWriting(FilePath("/proc/\(process)/fdinfo/\(file)"))
        else { return }
        do {
          let opened = FilePath("/proc/\(process)/fd/\(file)")
          // Meanwhile it may have been closed.
          guard let status = try Files.fileStatusIfPresent(opened) else { return }
          found[path, default: []].append(Writer(process: process, file: status))
        } catch {
          found[path, default: []].append(Writer(process: process, file: nil))
        }
      }
    }
    return found
  }

  /// Calls `body` with each name of a folder that is a number; with none if it cannot be read.
  private static func forEachNumber(in folder: String, body: (Int32) -> Void) {
    var directory: UnsafeMutableRawPointer?
    guard csystem_open_directory(folder, &directory) >= 0 else { return }
    defer { csystem_close_directory(directory) }
    var name: UnsafePointer<CChar>?
    while csystem_next_name(directory, &name) == 1 {
      if let name, let number = Int32(String(cString: name)) { body(number) }
    }
  }

  /// By the line `flags:` of proc_pid_fdinfo(5), in octal digits.
  private static func isForWriting(_ info: FilePath) -> Bool {
    guard let bytes = try? Files.readFile(info, limit: 65_536),
      let line = bytes.split(separator: UInt8(ascii: "\n")).first(where: {
        $0.starts(with: Array("flags:".utf8))
      }),
      let last = line.last
    else { return false }
    return last & 0b11 != 0
  }
}
