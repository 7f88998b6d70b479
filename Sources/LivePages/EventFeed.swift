import Foundation
import Godwit
import Pages

/// The messages to one visitor while a page is open.
///
/// It holds no queue: a visitor who reads slowly gets the latest state when there is room, without
/// the states in between.
public struct EventFeed: Sendable {
  /// The maximum time without a message.
  static let longestSilence = Duration.seconds(5)

  private let subject: Subject
  private var version = -1
  private var news = 0
  private var number = 0
  private var told: [String: String] = [:]
  private var title = ""
  private var lastWord: ContinuousClock.Instant?
  /// Whether the stream has finished.
  public private(set) var isOver = false

  /// What the news are of.
  enum Subject: Sendable {
    case list(MigrationList)
    case migration(WatchedMigration)
    case fleet(WatchedFleet)
    /// A store of a fleet, by its place in the list.
    case store(WatchedFleet, Int)
  }

  init(_ subject: Subject) { self.subject = subject }

  /// What is to be sent now, nil for nothing.
  public mutating func text(at now: ContinuousClock.Instant) async -> String? {
    var text = lastWord == nil ? ServerSentEvent.beginning : ""
    switch subject {
    case .list(let list):
      let view = await list.view(at: now)
      if view.version != version {
        version = view.version
        text += page(view.windowTitle, view.parts)
      }
    case .migration(let migration):
      let view = await migration.view(at: now)
      text += changes(
        view.version, view.news, json: view.json, title: view.windowTitle, parts: view.parts,
        end: view.end)
    case .fleet(let fleet): text += changes(await fleet.view(at: now))
    case .store(let fleet, let number): text += changes(await fleet.view(ofStore: number, at: now))
    }
    if text.isEmpty, let lastWord, now - lastWord >= Self.longestSilence {
      text = ServerSentEvent.heartbeat
    }
    guard !text.isEmpty else { return nil }
    lastWord = now
    return text
  }

  private mutating func changes(_ view: WatchedFleet.View) -> String {
    changes(
      view.version, view.version, json: view.json, title: view.windowTitle, parts: view.parts,
      end: view.end)
  }

  /// The changes since the last message to this visitor.
  private mutating func changes(
    _ version: Int, _ news: Int, json: String, title: String, parts: [LivePage.Part], end: String?
  ) -> String {
    var text = ""
    if version != self.version {
      self.version = version
      if news != self.news, !json.isEmpty { text += event(nil, json) }
      self.news = news
      text += page(title, parts)
    }
    if let end {
      text += event("over", end)
      isOver = true
    }
    return text
  }

  private mutating func event(_ name: String?, _ data: String) -> String {
    number += 1
    return ServerSentEvent(name: name, data: data).text(id: number)
  }

  private struct News: Encodable {
    var title: String?
    var parts: [String: String]
  }

  /// The parts that this visitor does not have yet.
  private mutating func page(_ title: String, _ parts: [LivePage.Part]) -> String {
    var news = News(title: title == self.title ? nil : title, parts: [:])
    for part in parts where told[part.id] != part.html {
      told[part.id] = part.html
      news.parts[part.id] = part.html
    }
    self.title = title
    guard news.title != nil || !news.parts.isEmpty else { return "" }
    do {
      let data = String(decoding: try JSONEncoder().encode(news), as: UTF8.self)
      return event("page", data)
    } catch {
      preconditionFailure("texts that are no JSON: \(error)")
    }
  }
}
