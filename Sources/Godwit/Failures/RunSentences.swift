import Mapping
import MigrationCoordinator
import SystemCalls
import SystemPackage

extension MigrationFailure {
  /// Describes what is wrong with the places that a migration writes to.
  init(place error: MigrationError) {
    switch error {
    case .alreadyRunning(let store, _):
      self.init(
        .inUse,
        "\(store) is being migrated by another godwit: wait for it, or watch it with "
          + "\(command: .status).")
    case .outputExists(let output):
      self.init(
        .cannotCreate, "\(output) exists already: name another file or remove it.")
    case .folderNotWritable(let folder, let cause as SystemCallError)
    where [.noSpace, .diskQuotaExceeded].contains(cause.errno):
      self.init(diskOf: folder)
    case .folderNotWritable(_, let cause as SystemCallError)
    where cause.disposition.contains(.workReusable):
      self.init(cause)
    case .folderNotWritable(let folder, _):
      self.init(
        .cannotCreate,
        "\(folder) cannot be written: make it writable, or name another work folder with "
          + "\(option: .work).")
    case .workFolderForeign(let folder, let fault):
      self.init(
        .cannotCreate, "\(folder) \(fault.sentence): nothing in it was touched.")
    case .diskFull(let shortages): self.init(.cannotWrite, shortages.map(\.sentence))
    case .nameTooLong(let path, let most): self.init(longName: "\(path)", most: most)
    case .keptListUnreadable(let path):
      self.init(
        .cannotCreate,
        "\(path) is not the list of kept stores that Godwit wrote: nothing was touched; move it away."
      )
    case .otherRun(let work, let differences):
      self.init(
        .cannotCreate,
        "\(work) holds what an interrupted run has done, and \(differences.sentence): start the "
          + "command as it was then to go on, or with \(option: .restart) to begin anew.")
    case .nothingKept(let store, let name?):
      self.init(
        .notFound,
        "no old store of \(store) is kept as \(name): \(command: .list("\(store)")) shows those "
          + "that are.")
    case .nothingKept(let store, nil):
      self.init(.notFound, "no old store of \(store) is kept: there is nothing to go back to.")
    case .keptMissing(let kept, let found?):
      self.init(
        .notFound,
        "\(kept) is missing, and \(found) has its contents: move that back to \(kept), and start "
          + "the same command again.")
    case .keptMissing(let kept, nil):
      self.init(
        .notFound,
        "\(kept) is missing: if it was moved or renamed, move it back to this name, and start the "
          + "same command again; nothing was touched.")
    case .keptUnlisted(let kept, let list):
      self.init(
        .notFound,
        "\(kept) cannot be checked, since \(list) is missing or does not name it: move the list "
          + "back beside the store, and start the same command again; nothing was touched.")
    case .keptChanged(let kept):
      self.init(
        .cannotCreate,
        "\(kept) is not as it was kept: something wrote to it or lies beside it; nothing was touched."
      )
    default: self.init(.bug, "unexpected error, please report it: \(error)")
    }
  }

  /// Describes a name that leaves no room for others.
  init(longName path: String, most: Int) {
    self.init(
      .usage,
      "the name of \(path) has more than the \(most) bytes that leave room for the names made from "
        + "it: take a shorter name.")
  }

  /// Describes what went wrong in workers and in the assembly.
  init(work error: MigrationError) {
    switch error {
    case .workOrderFailed(let order, let attempts, let reason):
      self.init(order: order, attempts: attempts, reason: reason)
    case .workerNotStarted(let cause):
      self.init(
        .system,
        "no worker process can be started (\(cause)): free memory or end other processes, or take "
          + "fewer \(option: .workers), and start the same command again.")
    case .workerForeign(let host, let version):
      self.init(
        .usage,
        "the launcher started another build of this program (Godwit \(version)) on \(host): put the "
          + "same executable at the same path of every machine.")
    case .workersDoubled:
      self.init(
        .usage,
        "the launcher started several workers for one work order: have it start one, such as by -n1 "
          + "of srun.")
    case .outputEndless:
      self.init(
        .usage,
        "the launcher prints a line without an end: have it pass on what workers print, and nothing "
          + "else.")
    case .shardUnseen(let path):
      self.init(
        .notFound,
        "a worker has made \(path), and it is not there: the work folder has to be on a file system "
          + "that all machines share (\(option: .work) names another folder).")
    case .manifestForeign(let path):
      self.init(
        .bug, "\(path) belongs to another plan: remove the work folder and try again.")
    case .manifestUnreadable(let path):
      self.init(
        .cannotWrite,
        "\(path) is not as it was written: check the disk, and start the same command again.")
    case .verificationFailed(let table, let expected, let rows):
      self.init(
        .bug,
        "\(table) should hold \(CountText(expected, "row")) and holds \(GroupedText(rows)), or others: nothing was replaced."
      )
    case .resultDamaged(let answers):
      self.init(
        .cannotWrite,
        "the new store is damaged (\(answers.joined(separator: "; "))): nothing was replaced; "
          + "check the disk.")
    default: self.init(.bug, "unexpected error, please report it: \(error)")
    }
  }
}

extension [RunDifference] {
  /// What differs, as the end of a sentence.
  fileprivate var sentence: String {
    let facts = map { difference in
      switch difference {
      case .store: "the store has changed since"
      case .sourceModel: "the store had another model"
      case .targetModel: "it was to another model"
      case .route: "it went over other versions"
      case .mappings: "it used other mapping models"
      case .option(let name, "yes"): "it was with \(Advice.words.option(named: name))"
      case .option(let name, let earlier):
        earlier.isEmpty
          ? "it was without \(Advice.words.option(named: name))"
          : "it was with \(Advice.words.option(named: name)) \(earlier)"
      case .version(let version): "it was Godwit \(version)"
      }
    }
    return facts.joined(separator: ", ")
  }
}

extension MigrationFailure {
  /// The failure of a program whose workers would run the program itself.
  static let forgottenWorker = MigrationFailure(
    .usage, kind: .workerForgotten,
    "this program never calls GodwitWorker.runIfRequested(), so that each of its workers would run "
      + "the program anew: make it the first call of main, or name another executable as "
      + "`resources.executable`.")

  /// The failure of a process that cannot find its arguments.
  static let argumentsUnknown = MigrationFailure(
    .bug,
    "the arguments of this process are not known, not even its name, and nothing was done: let it "
      + "read /proc/self/maps and /proc/self/cmdline.")

  /// Describes a worker process whose program does something else.
  init(workerOf coordinator: Int32) {
    self.init(
      .usage, kind: .workerForgotten,
      "this process was started as a worker of process \(coordinator), and its program does not call "
        + "GodwitWorker.runIfRequested() first: make it the first call of main.")
  }
}
