import Fleets
import Foundation
import Mapping
import Subprocess
import SystemCalls
public import SystemPackage

extension StoreFleet {
  /// The jobs of Slurm that run a fleet: an array, and a last job that merges the results.
  ///
  /// ```swift
  /// let submission = try StoreFleet("/shared/Autumn").slurmSubmission(elements: 20)
  /// print(try await submission.submit())
  /// ```
  public struct SlurmSubmission: Sendable {
    /// The script of an element.
    public var elementScript: FilePath
    /// The script of the last job.
    public var lastScript: FilePath
    /// The arguments of `sbatch` for the array.
    public var elementArguments: [String]
    /// The arguments of `sbatch` for the last job, behind the dependency.
    public var lastArguments: [String]

    /// The commands of a shell that submit both jobs.
    public var commands: [String] {
      let array = (["sbatch"] + elementArguments).map(Self.quoted).joined(separator: " ")
      let last = lastArguments.map(Self.quoted).joined(separator: " ")
      return ["array=$(\(array))", "sbatch --dependency=afterany:${array%%;*} \(last)"]
    }

    static func quoted(_ word: String) -> String {
      let plain = word.utf8.allSatisfy {
        let scalar = UnicodeScalar($0)
        return scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
          || "-_=./,:%@+".unicodeScalars.contains(scalar)
      }
      return plain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }

    /// Submits both jobs, and returns their numbers.
    ///
    /// - Throws: `MigrationFailure`, if `sbatch` is not there, or refuses.
    public func submit() async throws(MigrationFailure) -> (array: String, last: String) {
      let array = try await Self.sbatch(elementArguments)
      let last = try await Self.sbatch(["--dependency=afterany:\(array)"] + lastArguments)
      return (array, last)
    }

    private static func sbatch(
      _ arguments: [String]
    ) async throws(MigrationFailure) -> String {
      let ended: ExecutionResult<Void, StringOutput<UTF8>, StringOutput<UTF8>>
      do {
        ended = try await Subprocess.run(
          .name("sbatch"), arguments: Arguments(arguments), output: .string(limit: 1 << 16),
          error: .string(limit: 1 << 16))
      } catch {
        throw MigrationFailure(
          .notFound,
          "sbatch cannot be started: install Slurm, or print the commands with "
            + "\(option: .print).")
      }
      guard case .exited(0) = ended.terminationStatus else {
        let said = ended.standardError.split(separator: "\n").joined(separator: " ")
        throw MigrationFailure(.cannotWrite, "sbatch refuses the job: \(said)")
      }
      // --parsable prints the number, and the cluster behind a semicolon.
      let answer = ended.standardOutput.split(separator: "\n").last ?? ""
      return String(answer.prefix { $0 != ";" })
    }
  }

  /// Writes the scripts of an array into the folder of the fleet.
  ///
  /// - Parameters:
  ///   - elements: the number of elements.
  ///   - only: the elements to submit, as Slurm writes them (`3,7-9`); nil submits all.
  ///   - executable: the program that runs an element, on each node.
  ///   - command: the command of `fleet` that each element executes, `run` or `retry`.
  ///   - options: options of `sbatch` for the array.
  /// - Throws: `MigrationFailure`.
  public func slurmSubmission(
    elements: Int, only: String? = nil, executable: String = "godwit", command: String = "run",
    options: [String] = []
  ) throws(MigrationFailure) -> SlurmSubmission {
    guard FleetElement(number: 0, count: elements) != nil else {
      throw MigrationFailure(
        .usage, "an array has 1 to \(GroupedText(FleetElement.mostElements)) elements.")
    }
    return try MigrationFailure.catching {
      for made in [folder.scripts, folder.logs] { try Files.createDirectory(made) }
      let element = folder.scripts.appending("element.sh")
      let last = folder.scripts.appending("last.sh")
      let fleet = SlurmSubmission.quoted(folder.path.string)
      let run = [executable, "fleet", command].map(SlurmSubmission.quoted)
      // The signals of Slurm go to the process of the script.
      try write(
        """
        #!/bin/sh
        # One element of the array. It ends with 75 where stores are left: a requeue resumes.
        exec \(run.joined(separator: " ")) \(fleet) --element "$SLURM_ARRAY_TASK_ID/\(elements)" \\
          --jobs "${SLURM_CPUS_PER_TASK:-1}"

        """, to: element)
      try write(
        """
        #!/bin/sh
        # Merges the results of all elements; its exit status is that of the fleet, but 1 if stores
        # are left: 75 would have this job requeued, and not the elements.
        \(SlurmSubmission.quoted(executable)) fleet status \(fleet)
        status=$?
        \(SlurmSubmission.quoted(executable)) fleet status --json \(fleet) > \(fleet)/report.json
        test $status -ne 75 || exit 1
        exit $status

        """, to: last)
      let name = "godwit-\(folder.path.lastComponent?.string ?? "fleet")"
      let logs = folder.logs.string
      return SlurmSubmission(
        elementScript: element, lastScript: last,
        elementArguments: [
          "--parsable", "--array=\(only ?? "0-\(elements - 1)")", "--requeue",
          "--open-mode=append", "--job-name=\(name)", "--output=\(logs)/%A_%a.log",
        ] + options + [element.string],
        lastArguments: [
          "--parsable", "--job-name=\(name)-last", "--output=\(logs)/%j-last.log", last.string,
        ])
    }
  }

  private func write(_ text: String, to path: FilePath) throws {
    try Files.writeFileAtomically(
      Array(text.utf8), to: path,
      mode: [.ownerReadWriteExecute, .groupRead, .groupExecute, .otherRead, .otherExecute])
  }
}
