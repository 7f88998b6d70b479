import MigrationCoordinator
import Planning

/// What a migration did, in a few figures.
struct MigrationSummary {
  /// A figure with its name.
  struct Fact {
    let name, value: String
  }

  /// The objects of one entity.
  struct Entity {
    let name: String
    let stage: Int
    let rowsIn, rowsOut: Int64
    /// How many were dropped, and why.
    let drops: String
    /// Whether they were not counted.
    let isEstimated: Bool
  }

  /// Objects of a destination entity that no entity of the source became.
  struct Made {
    let name: String
    let stage: Int
    let objects: Int64
  }

  private let report: MigrationReport

  init(_ report: MigrationReport) { self.report = report }

  /// Entities that have objects: those with dropped objects first, then by their number.
  var entities: [Entity] {
    report.accounts.flatMap { account in
      let names = report.models?.names(afterStage: account.stage) ?? [:]
      return account.entities.filter { $0.rowsIn > 0 }
        .sorted {
          ($1.rowsIn - $1.rowsOut, $1.rowsIn, $0.entity) < (
            $0.rowsIn - $0.rowsOut, $0.rowsIn, $1.entity
          )
        }
        .map {
          Entity(
            name: Self.text($0.entity, now: names[$0.entity]), stage: account.stage,
            rowsIn: $0.rowsIn, rowsOut: $0.rowsOut,
            drops: $0.drops.joined(separator: ", "), isEstimated: $0.isEstimated == true)
        }
    }
  }

  /// The entities whose objects mapping models made, besides those that continue.
  var made: [Made] {
    report.accounts.flatMap { account in
      let names = report.models?.names(afterStage: account.stage) ?? [:]
      let going = account.entities.filter { $0.rowsOut > 0 }.map { names[$0.entity] ?? $0.entity }
      return account.rows.filter { $0.value > 0 && !going.contains($0.key) }
        .sorted { $0.key < $1.key }
        .map { Made(name: $0.key, stage: account.stage, objects: $0.value) }
    }
  }

  /// The name of an entity, and the one that it has after the stage where that is another.
  private static func text(_ name: String, now: String?) -> String {
    now.map { $0 == name ? name : "\(name), now \($0)" } ?? name
  }

  /// Seconds of the whole run.
  private var seconds: Double { report.timeline?.seconds ?? 0 }

  /// The figures of the whole run.
  var facts: [Fact] {
    var facts = [Fact(name: "rows", value: "\(GroupedText(rowsMade))")]
    if let staying = report.stayingRows, staying > 0 {
      facts.append(Fact(name: "rows that stay, about", value: "\(GroupedText(staying))"))
    }
    guard let timeline = report.timeline else { return facts }
    facts.append(Fact(name: "time", value: SecondsText(seconds).description))
    if let rate { facts.append(Fact(name: "rows per second", value: rate)) }
    if let memory { facts.append(Fact(name: "most memory", value: memory)) }
    if let engine = report.engine { facts.append(Fact(name: "engine", value: engine.rawValue)) }
    let stages = Set(timeline.phases.map(\.stage)).count
    if stages > 1 { facts.append(Fact(name: "stages", value: "\(stages)")) }
    let retries = timeline.workOrders.count { !$0.isDone }
    if retries > 0 { facts.append(Fact(name: "failed attempts", value: "\(retries)")) }
    if report.resumed { facts.append(Fact(name: "resumed", value: resumed)) }
    return facts
  }

  /// Rows of the result per second of the whole run.
  private var rate: String? {
    guard seconds > 0, rowsMade > 0 else { return nil }
    return "\(GroupedText(Int64(min(1e15, (Double(rowsMade) / seconds).rounded()))))"
  }

  /// Rows of the result but for those that stayed as they were, which takes no time.
  private var rowsMade: Int64 { report.rows - (report.stayingRows ?? 0) }

  /// What all processes occupied at most, as far as it was seen.
  private var memory: String? {
    report.mostMemory.flatMap { $0 > 0 ? "\(ByteText($0))" : nil }
  }

  private var resumed: String {
    let found = report.workOrders.count(where: \.wasResumed)
    if found > 0 { return "\(found) of \(CountText(report.workOrders.count, "work order"))" }
    return report.accounts.count > 1 ? "earlier stages" : "the plan alone"
  }

  /// The most entities in `lines`.
  private static let mostEntities = 12

  /// The lines that `godwit migrate` prints.
  var lines: [String] {
    let all =
      made.map { (name($0.name, stage: $0.stage), "\(CountText($0.objects, "object")) made") }
      + entities.map { entity in
        let out = entity.rowsIn == entity.rowsOut ? "" : ", \(GroupedText(entity.rowsOut)) kept"
        let drops = entity.drops.isEmpty ? "" : ", \(entity.drops)"
        let about = entity.isEstimated ? "about " : ""
        return (
          name(entity.name, stage: entity.stage),
          "\(about)\(CountText(entity.rowsIn, "object"))\(out)\(drops)"
        )
      }
    let shown = all.prefix(Self.mostEntities)
    let width = shown.map(\.0.count).max() ?? 0
    var lines = shown.map { name, text in
      "  \(name)\(String(repeating: " ", count: width - name.count))  \(text)"
    }
    if all.count > shown.count {
      lines.append("  and \(CountText(all.count - shown.count, "more entity", "more entities"))")
    }
    guard report.timeline != nil else { return lines }
    let times = phases.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
    var run = "  in \(SecondsText(seconds))\(times.isEmpty ? "" : " (\(times))")"
    if let rate { run += ", \(rate) rows/s" }
    if let memory { run += ", at most \(memory) of memory" }
    lines.append(run)
    if report.resumed { lines.append("  taken over: \(resumed)") }
    return lines
  }

  /// The name of an entity, with the number of its stage where there are several.
  private func name(_ entity: String, stage: Int) -> String {
    report.accounts.count > 1 ? "\(entity) (stage \(stage))" : entity
  }

  /// The phases that took a twentieth of the time or more.
  private var phases: [Fact] {
    var names: [String] = []
    for phase in report.timeline?.phases ?? [] where !names.contains(phase.phase) {
      names.append(phase.phase)
    }
    return names.compactMap { name in
      let time = report.seconds[name] ?? 0
      return time * 20 >= seconds && time >= 0.005
        ? Fact(name: name, value: SecondsText(time).description) : nil
    }
  }
}

/// A time with two digits that count, such as `0.31 s`, `12 s` or `2 min 5 s`.
struct SecondsText: CustomStringConvertible {
  private let seconds: Double

  init(_ seconds: Double) { self.seconds = seconds.isFinite ? min(max(0, seconds), 1e12) : 0 }

  var description: String {
    if seconds >= 60 {
      let whole = Int(seconds.rounded())
      let (hours, minutes) = (whole / 3600, whole % 3600 / 60)
      return hours > 0 ? "\(hours) h \(minutes) min" : "\(minutes) min \(whole % 60) s"
    }
    let digits = seconds >= 10 ? 1.0 : seconds >= 1 ? 10 : 100
    let rounded = (seconds * digits).rounded() / digits
    return rounded == rounded.rounded() ? "\(Int(rounded)) s" : "\(rounded) s"
  }
}
