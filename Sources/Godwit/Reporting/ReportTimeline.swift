import MigrationCoordinator
import Pages

extension MigrationReport {
  var timeSection: Page.Section? { timeline?.timeSection }
}

extension RunRecording {
  /// The activities over time: phases and workers as bars, rows per second and memory as curves.
  var timeSection: Page.Section? {
    guard seconds > 0 else { return nil }
    var section = Page.Section("Time")
    section.pictures = [picture.svg] + curves.map(\.svg)
    if curves.isEmpty {
      section.lines = [Markup("The run was too short for figures over time.")]
    }
    section.legend = phaseNames.map { .init("tone\(Self.tone(of: $0))", $0) }
    return section
  }

  private static func tone(of phase: String) -> Int { phaseTones[phase] ?? 6 }

  private static let phaseTones = [
    "surveying": 5, "planning": 3, "reading": 2, "migrating": 0, "merging": 2, "relinking": 4,
    "indexing": 1, "verifying": 7, "swapping": 6,
  ]

  /// The most lanes of workers; more than that are in one that overlaps.
  private static let mostLanes = 32

  private var picture: TimelinePicture {
    let isStaged = Set(phases.map(\.stage)).count > 1
    let bars = phases.map { phase in
      TimelinePicture.Bar(
        from: phase.from, to: phase.to,
        title: (isStaged ? "stage \(phase.stage), " : "")
          + "\(phase.phase): \(SecondsText(phase.to - phase.from))",
        tone: Self.tone(of: phase.phase))
    }
    var lanes = [TimelinePicture.Lane(label: "phases", bars: bars)]
    for (number, orders) in zip(1..., laidOut) {
      let done = orders.count(where: \.isDone)
      lanes.append(
        .init(
          label: "worker \(number): \(CountText(done, "work order"))",
          bars: orders.map { order in
            .init(
              from: order.from, to: order.to,
              title: (isStaged ? "stage \(order.stage), " : "")
                + "work order \(order.workOrder), partition \(order.partition)"
                + (order.attempt > 1 ? ", attempt \(order.attempt)" : "")
                + (order.isDone ? "" : ", failed")
                + ": \(CountText(order.rows, "row")), \(SecondsText(order.to - order.from))",
              tone: order.partition - 1, isBad: !order.isDone)
          }))
    }
    return TimelinePicture(lanes, to: seconds)
  }

  /// The phases in their order: a bar is drawn for each, however short it was.
  private var phaseNames: [String] {
    var names: [String] = []
    for phase in phases where !names.contains(phase.phase) { names.append(phase.phase) }
    return names
  }

  /// The work orders in lanes; one worker could have done those of a lane.
  private var laidOut: [[OrderSpan]] {
    var lanes: [[OrderSpan]] = []
    for order in workOrders {
      // Starts and ends are noted one after the other.
      let free = lanes.firstIndex { ($0.last?.to ?? 0) <= order.from + 0.002 }
      if let free {
        lanes[free].append(order)
      } else if lanes.count < Self.mostLanes {
        lanes.append([order])
      } else {
        lanes[Self.mostLanes - 1].append(order)
      }
    }
    return lanes
  }

  /// Seconds over which a speed is a mean.
  private static let leastWindow = 0.5

  /// Rows per second over a hundredth of the run: workers report their progress periodically.
  private var rates: [CurvePicture.Point] {
    let window = max(Self.leastWindow, seconds / 100)
    var first = 0
    return samples.map { now in
      while samples[first].at < now.at - window || samples[first].stage != now.stage { first += 1 }
      let before = samples[first]
      let rows = now.rows > before.rows ? Double(now.rows - before.rows) : 0
      return .init(now.at, rows / max(window, now.at - before.at))
    }
  }

  /// None of a run that ended before anything was seen of it.
  private var curves: [CurvePicture] {
    guard samples.count > 1, samples.contains(where: { $0.memory > 0 }) else { return [] }
    let speed = CurvePicture("rows per second", rates, to: seconds) {
      "\(GroupedText(Int64(min(1e15, $0.rounded()))))"
    }
    // In a short run no mean over the window is as high as that over the run.
    return (seconds < 4 * Self.leastWindow ? [] : [speed]) + [
      CurvePicture(
        "memory of all processes", samples.map { .init($0.at, Double($0.memory)) }, to: seconds
      ) { "\(ByteText(Int64(min(9e18, $0))))" }
    ]
  }
}
