import NIOCore
import Synchronization

/// The places of connections; some stay free for the next visitor.
///
/// Where few are left, the connection without a stream that was quiet for the longest time is
/// closed. So idle connections do not keep out others, such as a health check.
final class ConnectionPlaces: Sendable {
  private struct Place {
    let channel: any Channel
    var lastUsed: NIODeadline
    var isStream = false
  }

  private let most: Int
  private let places = Mutex<[ObjectIdentifier: Place]>([:])

  /// Takes how many places may be taken.
  init(most: Int) { self.most = most }

  /// Gives a connection a place.
  fileprivate func enter(_ channel: any Channel) {
    let quiet = places.withLock { places -> (any Channel)? in
      places[ObjectIdentifier(channel)] = Place(channel: channel, lastUsed: .now())
      guard places.count > most else { return nil }
      let oldest = places.values.filter { !$0.isStream && $0.channel !== channel }
        .min { $0.lastUsed < $1.lastUsed }
      if let oldest { places[ObjectIdentifier(oldest.channel)] = nil }
      return oldest?.channel
    }
    quiet?.close(promise: nil)
  }

  fileprivate func leave(_ channel: any Channel) {
    _ = places.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
  }

  fileprivate func use(_ channel: any Channel) {
    places.withLock { $0[ObjectIdentifier(channel)]?.lastUsed = .now() }
  }

  /// Marks a connection as one that waits for news, and is not closed for being quiet.
  func mark(stream channel: any Channel, isOpen: Bool) {
    places.withLock {
      $0[ObjectIdentifier(channel)]?.isStream = isOpen
      $0[ObjectIdentifier(channel)]?.lastUsed = .now()
    }
  }

  /// The handler of a connection, which gives it a place as long as it is open.
  var handler: any RemovableChannelHandler { Handler(self) }

  private final class Handler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = Any
    typealias OutboundIn = Any

    private let places: ConnectionPlaces

    init(_ places: ConnectionPlaces) { self.places = places }

    func handlerAdded(context: ChannelHandlerContext) { places.enter(context.channel) }

    func handlerRemoved(context: ChannelHandlerContext) { places.leave(context.channel) }

    func channelReadComplete(context: ChannelHandlerContext) {
      places.use(context.channel)
      context.fireChannelReadComplete()
    }

    func flush(context: ChannelHandlerContext) {
      places.use(context.channel)
      context.flush()
    }
  }
}
