import Mapping
import MigrationCoordinator
import SystemCalls
import SystemPackage

extension MigrationFailure {
  init(_ error: PlaceError) {
    switch error {
    case .alreadyRunning(let store, _):
      self.init(
        .inUse, at: store,
        "\(store) is being migrated by another godwit: wait for it, or watch it with "
          + "\(command: .status).")
    case .outputExists(let output):
      self.init(
        .cannotCreate, kind: .fileExists, at: output,
        "\(output) already exists: name another file or remove it.")
    case .folderNotWritable(let folder, let cause): self.init(unwritable: folder, cause)
    case .storeReserved(let store):
      self.init(
        .cannotCreate, at: store,
        "\(store) cannot be replaced: another user owns it, and the sticky bit of its folder lets "
          + "only owners rename files; run the command as that user, or use \(option: .output).")
    case .workFolderForeign(let folder, let fault):
      self.init(
        .cannotCreate, kind: .fileExists, at: folder,
        "\(folder) \(fault.sentence): nothing in it was changed.")
    case .diskFull(let shortages):
      self.init(
        .cannotWrite, kind: .diskFull, at: shortages.first?.path, shortages.map(\.sentence),
        reasons: shortages.map { Reason($0) })
    case .nameTooLong(let path, let most): self.init(longName: path, most: most)
    case .otherRun(let work, let differences):
      self.init(
        .cannotCreate, kind: .otherRun, at: work,
        "\(work) holds the work of an interrupted run, and \(differences.sentence): start the "
          + "original command to resume it, or use \(option: .restart) to start over.")
    case .keptListUnreadable(let path):
      self.init(
        .cannotCreate, kind: .fileExists, at: path,
        "\(path) is not a list of kept stores that Godwit wrote: nothing was done; move it away."
      )
    case .nothingKept(let store, let name): self.init(nothingKeptOf: store, as: name)
    case .oldStoreDiscarded(let store, let earlier):
      self.init(
        .notFound, at: store,
        "the last migration of \(store) discarded its old store: there is nothing to roll back to. "
          + "\(command: .list("\(store)")) shows the old stores of earlier migrations; "
          + "\(command: .restore("\(store)", kept: "\(earlier)")) restores the last of these.")
    case .keptMissing(let kept, let found): self.init(keptMissing: kept, found: found)
    case .keptUnlisted(let kept, let list):
      self.init(
        .notFound, at: list,
        "\(kept) cannot be checked, since \(list) is missing or does not name it: move the list "
          + "back next to the store, and start the same command again; nothing was touched.")
    case .keptInPlace(let kept, let store):
      self.init(
        .usage, at: kept,
        "\(kept) is an old store that Godwit keeps of \(store), and is not migrated in place: use "
          + "\(command: .rollback("\(store)")) to restore it, or \(option: .output) to migrate it to "
          + "another file.")
    case .keptRenamed(let list, let name, let missing):
      self.init(
        .notFound, at: list,
        "\(list) lists the old stores of \(name), and \(missing) is missing: rename all files of "
          + "the store and its _SUPPORT folders in the same way, or rename them back to \(name); "
          + "nothing was touched.")
    case .keptChanged(let kept):
      self.init(
        .cannotCreate, kind: .fileExists, at: kept,
        "\(kept) has changed since it was kept: something wrote to it or next to it; nothing was "
          + "done.")
    }
  }

  /// Describes a folder that cannot be written.
  private init(unwritable folder: FilePath, _ cause: any Error) {
    switch cause {
    case let cause as SystemCallError where cause.errno.isOfFullDisk: self.init(diskOf: folder)
    case let cause as SystemCallError where cause.disposition.contains(.workReusable):
      self.init(cause)
    default:
      self.init(
        .cannotCreate,
        "\(folder) cannot be written: make it writable, or use another folder.")
    }
    file = folder
  }

  /// Describes a store without a kept old store, or without one of that name.
  private init(nothingKeptOf store: FilePath, as name: FilePath?) {
    let sentence =
      if let name {
        "no old store of \(store) is kept as \(name): \(command: .list("\(store)")) shows those that "
          + "are."
      } else {
        "no old store of \(store) is kept: there is nothing to roll back to."
      }
    self.init(.notFound, at: store, sentence)
  }

  /// Describes a store whose old one a fleet discarded.
  init(notKeptByFleet store: FilePath) {
    self.init(
      .notFound, at: store,
      "the fleet kept no old store of \(store): there is nothing to roll back to. "
        + "\(command: .list("\(store)")) shows the old stores of other migrations.")
  }

  /// Describes a kept store that is not there; a file that has its bytes.
  private init(keptMissing kept: FilePath, found: FilePath?) {
    let sentence =
      if let found {
        "\(kept) is missing, and \(found) has its contents: move that back to \(kept), and start "
          + "the same command again."
      } else {
        "\(kept) is missing: if it was moved or renamed, move it back to this name, and start the "
          + "same command again; nothing was touched."
      }
    self.init(.notFound, at: kept, sentence)
  }

  /// Describes a name that leaves no room for others.
  init(longName path: FilePath?, most: Int) {
    let file = path.map { "\($0)" } ?? "the output"
    self.init(
      .usage, at: path,
      "the name of \(file) has more than \(most) bytes, which leaves no room for names derived "
        + "from it: use a shorter name.")
  }
}

extension MigrationFailure {
  init(_ error: WorkError) {
    switch error {
    case .workOrderFailed(let order, let attempts, let fault):
      self.init(order: order, attempts: attempts, fault: fault)
    case .workerNotStarted(let cause):
      self.init(
        .system,
        "no worker process can be started (\(cause)): free memory or end other processes, or use "
          + "fewer \(option: .workers), and start the same command again.")
    case .workerForeign(let host, let version):
      self.init(
        .usage,
        "the launcher started another build of this program (Godwit \(version)) on \(host): put the "
          + "same executable at the same path of every machine.")
    case .workersDoubled:
      self.init(
        .usage,
        "the launcher started several workers for one work order: let it start one, such as with "
          + "srun -n1.")
    case .outputEndless:
      self.init(
        .usage,
        "the launcher prints an endless line: it must pass on only the output of workers.")
    case .shardUnseen(let path):
      self.init(
        .notFound, at: path,
        "a worker has made \(path), which does not exist here: put the work folder on a file "
          + "system that all machines share (\(option: .work) names another folder).")
    case .manifestForeign(let path):
      self.init(
        .bug, at: path, "\(path) belongs to another plan: remove the work folder and try again.")
    case .manifestUnreadable(let path):
      self.init(
        .cannotWrite, at: path,
        "\(path) does not have the content that was written: check the disk, and start the same "
          + "command again.")
    case .verificationFailed(let table, let expected, let rows):
      self.init(
        .bug,
        "\(table) should have \(CountText(expected, "row")) and has \(GroupedText(rows)), or "
          + "different rows: nothing was replaced."
      )
    case .resultDamaged(let answers):
      self.init(
        .cannotWrite,
        "the new store is damaged (\(answers.joined(separator: "; "))): nothing was replaced; "
          + "check the disk.")
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
      case .targetModel: "it had another target model"
      case .route: "it used other versions"
      case .mappings: "it used other mapping models"
      case .program: "the program with its policies and handlers has changed since"
      case .option(let option, "yes"): "it ran with \(option: option)"
      case .option(let option, ""): "it ran without \(option: option)"
      case .option(let option, let earlier): "it ran with \(option: option) \(earlier)"
      case .version(let version): "it ran with Godwit \(version)"
      }
    }
    return facts.joined(separator: ", ")
  }
}

extension MigrationFailure {
  /// The failure of a program whose workers would run the program itself.
  static let forgottenWorker = MigrationFailure(
    .usage, kind: .workerForgotten,
    "this program never calls GodwitWorker.runIfRequested(), so each worker would run the whole "
      + "program: make it the first call of main, or name another executable as "
      + "`resources.executable`.")

  /// The failure of a process that cannot find its arguments.
  static let argumentsUnknown = MigrationFailure(
    .bug,
    "this process cannot read its own arguments, and nothing was done: permit reading "
      + "/proc/self/maps and /proc/self/cmdline.")

  /// Describes a worker process whose program does something else.
  init(workerOf coordinator: Int32) {
    self.init(
      .usage, kind: .workerForgotten,
      "this process was started as a worker of process \(coordinator), and its program does not call "
        + "GodwitWorker.runIfRequested() first: make it the first call of main.")
  }
}
