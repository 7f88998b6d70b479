import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import LivePages
import Logging
import NIOCore
import Synchronization
import SystemPackage

/// Takes requests from sockets, and has a site answer them.
struct SocketServer: LiveServer {
  /// The maximum number of open event streams, and of connections.
  private static let (mostStreams, mostConnections) = (64, 256)
  /// How many of the connections stay free for the next visitor.
  private static let connectionsKeptFree = 16
  /// How long a connection may wait with half a request, or none.
  private static let idleTime = TimeAmount.seconds(10)
  /// How long streams have to end.
  private static let goodbye = Duration.seconds(1)

  static func address(_ text: String) -> String? {
    (try? SocketAddress(ipAddress: text, port: 0))?.ipAddress
  }

  static func serve(_ service: LiveService) async throws {
    let places = ConnectionPlaces(most: mostConnections - connectionsKeptFree)
    let streams = OpenStreams(most: mostStreams, places: places)
    let stop = AsyncStream.makeStream(of: Void.self)
    let forget = service.whenAskedToStop {
      streams.stop()
      stop.continuation.finish()
    }
    defer { forget() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      let site = SiteHolder()
      group.addTask { try await takeRequests(service, site, streams, places) }
      group.addTask {
        for await _ in stop.stream {}
        let end = ContinuousClock.now + goodbye
        while streams.count > 0, .now < end { try await Task.sleep(for: .milliseconds(10)) }
      }
      try await group.next()
      // Connections that wait for a next request have no data to send.
      group.cancelAll()
      if streams.isStopping { Foundation.exit(0) }
    }
  }

  private static func takeRequests(
    _ service: LiveService, _ holder: SiteHolder, _ streams: OpenStreams,
    _ places: ConnectionPlaces
  ) async throws {
    var quiet = Logger(label: "godwit serve")
    quiet.logLevel = .critical
    let responder = CallbackResponder<VisitorContext> { request, context in
      await respond(to: request, context: context, holder.site, streams)
    }
    let limits = HTTP1Channel.Configuration.DecoderConfiguration(
      maxHeaderFieldSize: 8_192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 100)
    let application = Application(
      responder: responder,
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [places.handler], idleTimeout: idleTime,
          httpDecoderConfiguration: limits)),
      configuration: ApplicationConfiguration(
        address: .hostname(service.address, port: service.port),
        availableConnectionsDelegate: .maximum(mostConnections, logger: quiet)),
      onServerRunning: { channel in
        let bound = channel.localAddress?.port ?? service.port
        holder.open(service.site(port: bound))
        service.announce(port: bound)
      }, logger: quiet)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await holder.run() }
      do {
        try await application.run()
      } catch let error as IOError {
        throw Errno(rawValue: error.errnoCode)
      }
      group.cancelAll()
    }
  }
}

/// The site, which is made once the port is known.
private final class SiteHolder: Sendable {
  private let made = Mutex<LiveSite?>(nil)
  private let opened = AsyncStream.makeStream(of: LiveSite.self)

  var site: LiveSite? { made.withLock { $0 } }

  func open(_ site: LiveSite) {
    made.withLock { $0 = site }
    opened.continuation.yield(site)
    opened.continuation.finish()
  }

  /// Keeps the site up to date.
  func run() async {
    for await site in opened.stream { await site.run() }
  }
}

/// What is known of a visitor's connection.
struct VisitorContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}

// MARK: Requests and answers

extension SocketServer {
  private static func respond(
    to request: Request, context: VisitorContext, _ site: LiveSite?, _ streams: OpenStreams
  ) async -> Response {
    guard let site else { return Response(status: .serviceUnavailable) }
    var asked = SiteRequest(request.method.rawValue, request.head.path ?? "")
    asked.host = request.head.authority
    asked.origin = request.headers[.origin]
    asked.authorization = request.headers[.authorization]
    asked.cookie = request.headers[.cookie]
    asked.accept = request.headers[.accept]
    do {
      let body = try await request.body.collect(upTo: LiveSite.longestForm)
      asked.body = String(buffer: body)
    } catch {
      // Longer than any form, or broken off.
      return Response(status: .contentTooLarge, headers: [.connection: "close"])
    }
    let answer = await site.answer(asked)
    var headers = HTTPFields()
    for (name, value) in answer.headers {
      guard let name = HTTPField.Name(name) else { continue }
      headers.append(HTTPField(name: name, value: value))
    }
    let response = Response(status: .init(code: answer.status), headers: headers)
    switch answer.body {
    case .text(let text):
      return filled(response, ByteBuffer(string: text), isHead: request.method == .head)
    case .events(let feed):
      if request.method == .head {
        var head = response
        head.headers[.contentLength] = nil
        return head
      }
      return streamed(response, feed, on: context.channel, streams)
    }
  }

  private static func filled(
    _ response: Response, _ bytes: ByteBuffer, isHead: Bool
  ) -> Response {
    var response = response
    let length = bytes.readableBytes
    if !isHead { response.body = ResponseBody(byteBuffer: bytes) }
    response.headers[.contentLength] = "\(length)"
    return response
  }

  private static func streamed(
    _ response: Response, _ feed: EventFeed, on channel: any Channel, _ streams: OpenStreams
  ) -> Response {
    guard let place = streams.enter(channel) else {
      var full = filled(
        Response(status: .serviceUnavailable, headers: response.headers),
        ByteBuffer(string: "503: too many pages are open: close some.\n"), isHead: false)
      full.headers[.contentType] = "text/plain; charset=utf-8"
      full.headers[.retryAfter] = "10"
      return full
    }
    var response = response
    response.headers[.contentLength] = nil
    response.body = ResponseBody { writer in
      defer { place.leave() }
      var feed = feed
      while !streams.isStopping {
        if let text = await feed.text(at: .now) {
          place.isWriting = true
          try await writer.write(ByteBuffer(string: text))
          place.isWriting = false
        }
        if feed.isOver { break }
        try await Task.sleep(for: .milliseconds(50))
      }
      try await writer.finish(nil)
    }
    return response
  }
}

/// The open event streams.
///
/// One who does not read what is written keeps its place for a while, and is then cut off.
final class OpenStreams: Sendable {
  /// How long a visitor may leave what is written unread.
  private static let patience = Duration.seconds(20)

  private struct State {
    var places: Set<ObjectIdentifier> = []
    var isStopping = false
  }

  private let most: Int
  private let places: ConnectionPlaces
  private let state = Mutex(State())

  init(most: Int, places: ConnectionPlaces) { (self.most, self.places) = (most, places) }

  var count: Int { state.withLock { $0.places.count } }
  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Has all of them end.
  func stop() { state.withLock { $0.isStopping = true } }

  /// A place for one more, nil where there is none.
  func enter(_ channel: any Channel) -> Place? {
    let place = Place(self, channel)
    let isTaken = state.withLock { state in
      guard state.places.count < most, !state.isStopping else { return false }
      state.places.insert(ObjectIdentifier(place))
      return true
    }
    guard isTaken else { return nil }
    places.mark(stream: channel, isOpen: true)
    place.guardAgainstSilence(for: Self.patience)
    return place
  }

  /// The place of a visitor.
  final class Place: Sendable {
    private let streams: OpenStreams
    private let channel: any Channel
    private let writing = Mutex<ContinuousClock.Instant?>(nil)
    private let watch = Mutex<Task<Void, Never>?>(nil)

    init(_ streams: OpenStreams, _ channel: any Channel) {
      (self.streams, self.channel) = (streams, channel)
    }

    /// Whether something is written that the visitor has not taken yet.
    var isWriting: Bool {
      get { writing.withLock { $0 != nil } }
      set { writing.withLock { $0 = newValue ? .now : nil } }
    }

    /// An answer may be dropped before it is begun.
    deinit { leave() }

    /// Gives the place back.
    func leave() {
      let wasTaken = streams.state.withLock { $0.places.remove(ObjectIdentifier(self)) } != nil
      if wasTaken { streams.places.mark(stream: channel, isOpen: false) }
      watch.withLock { $0?.cancel() }
    }

    fileprivate func guardAgainstSilence(for patience: Duration) {
      let task = Task { [weak self, channel] in
        while (try? await Task.sleep(for: .seconds(1))) != nil {
          guard let self else { return }
          guard let since = writing.withLock({ $0 }), .now - since > patience else { continue }
          // The write that waits fails then, and the place is left.
          channel.close(promise: nil)
          return
        }
      }
      watch.withLock { $0 = task }
    }
  }
}
