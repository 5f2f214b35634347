import Foundation
import Synchronization
import Testing

@testable import Client

@Suite("Token cache")
struct TokenCacheTests {
    /// Gives out tokens when it is let, and notes when it is asked and when it is told to stop.
    private final class Source: Sendable {
        let fetches = Record<Int>()
        let cancelled = Record<Int>()
        let isOpen = Mutex(false)

        func open() { isOpen.withLock { $0 = true } }

        @Sendable func fetch() async throws -> AccessToken {
            fetches.add(fetches.all.count)
            while !isOpen.withLock({ $0 }) {
                do {
                    try await Task.sleep(for: .milliseconds(1))
                } catch {
                    cancelled.add(0)
                    throw error
                }
            }
            return AccessToken(token: "t\(fetches.all.count)", expiresAt: 1_000_000)
        }
    }

    private func cache(_ source: Source, at seconds: Double = 0) -> TokenCache {
        TokenCache(now: { Date(timeIntervalSince1970: seconds) }, fetch: source.fetch)
    }

    @Test(arguments: zip([969.0, 971.0], [1, 2]))
    func `a token serves until 30 seconds before it expires`(now: Double, fetches: Int) async throws {
        let source = Source()
        source.open()
        let cache = cache(source, at: now)
        for _ in 0..<2 { _ = try await cache.token() }
        #expect(source.fetches.all.count == fetches)
    }

    @Test
    func `a token from before is used`() async throws {
        let cache = TokenCache(.init(token: "old", expiresAt: .max), fetch: Source().fetch)
        let token = try await cache.token()
        #expect(token == "old")
    }

    @Test
    func `a refused token is replaced once, however many were refused with it`() async throws {
        let source = Source()
        source.open()
        let cache = cache(source)
        let first = try await cache.token()
        var tokens: [String] = []
        for _ in 0..<3 { tokens.append(try await cache.token(insteadOf: first)) }
        #expect(tokens == ["t2", "t2", "t2"])
    }

    @Test
    func `one who leaves does not take the fetch from the others`() async throws {
        let source = Source()
        let cache = cache(source)
        let tasks = (0..<2).map { _ in Task { try await cache.token() } }
        #expect(await eventually { source.fetches.all.count == 1 })
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        source.open()
        let token = try await tasks[1].value
        #expect(token == "t1")
        #expect(source.cancelled.all.isEmpty)
    }

    @Test
    func `a fetch that nobody waits for ends, and the next one begins anew`() async throws {
        let source = Source()
        let cache = cache(source)
        let task = Task { try await cache.token() }
        #expect(await eventually { source.fetches.all.count == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await eventually { source.cancelled.all.count == 1 })
        source.open()
        let token = try await cache.token()
        #expect(token == "t2")
    }

    @Test
    func `a failure is everybody's, and not kept`() async throws {
        struct Failure: Error {}
        let attempts = Record<Void>()
        let cache = TokenCache {
            attempts.add(())
            if attempts.all.count == 1 { throw Failure() }
            return AccessToken(token: "t", expiresAt: .max)
        }
        await #expect(throws: Failure.self) { try await cache.token() }
        let token = try await cache.token()
        #expect(token == "t")
    }

    @Test(
        arguments: zip(
            [1_700_000_000, 0.5, -1, 1e300, -.infinity, .nan] as [Double],
            [1_700_000_000_000, 500, 0, 1_000_000_000_000_000_000, 0, 0] as [Int64]))
    func `seconds of an endpoint become milliseconds, whatever they are`(seconds: Double, milliseconds: Int64) {
        #expect(AccessToken(token: "", expiresAtSeconds: seconds).expiresAt == milliseconds)
    }
}
