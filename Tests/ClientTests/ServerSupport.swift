import Foundation
import HTTP
import Synchronization

@testable import Client

/// Runs a server on a free port for the length of a test.
@discardableResult
func withServer<T>(_ handler: @escaping Server.Handler, _ body: (URL) async throws -> T) async throws -> T {
    let server = try await Server.start(
        .init(host: "127.0.0.1", port: 0), handler: { try await handler($0.collected(upTo: .max)) })
    let result: Result<T, any Error>
    do {
        result = .success(try await body(URL(string: "http://127.0.0.1:\(server.port)")!))
    } catch {
        result = .failure(error)
    }
    await server.stop(within: .zero)
    return try result.get()
}

/// Whether a condition comes true within a time that no working test needs.
func eventually(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while .now < end {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return false
}

/// What is added from anywhere, in the order it came.
final class Record<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func add(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
}

extension Record<String> {
    var text: String { all.joined(separator: "\n") }
}

extension Response {
    static func json(_ text: String, status: Int = 200) -> Self {
        .init(status: status, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
    }

    /// Server-sent events, each as its data.
    static func events(_ data: [String]) -> Self { stream { try await $0.write(events: data) } }

    static func stream(_ body: @escaping @Sendable (ResponseWriter) async throws -> Void) -> Self {
        .init(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(body))
    }
}

extension ResponseWriter {
    func write(events: [String]) async throws {
        for event in events { try await write(Array("data: \(event)\n\n".utf8)) }
    }
}

extension APIClient.Pauses {
    /// As few milliseconds as can be.
    static let short = Self(refused: .milliseconds(1), unreachable: [.milliseconds(1), .milliseconds(1)])
}

extension Task where Success == Never, Failure == Never {
    /// Until cancelled.
    static func sleepForEver() async throws { try await sleep(for: .seconds(3600)) }
}
