import HTTP
import Synchronization
import TestSupport
import Testing

@testable import AppGateway
@testable import Shim

@Suite(.timeLimit(.minutes(2))) struct RateLimiterTests {
    private final class Clock: Sendable {
        private let state = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { state.withLock { $0 } }
        func advance(_ seconds: Double) { state.withLock { $0 += .seconds(seconds) } }
    }

    private let clock = Clock()

    private func limiter(_ limit: Int, most: Int = 100) -> RateLimiter {
        RateLimiter(perMinute: limit, mostBuckets: most) { [clock] in clock.now }
    }

    private let caller = RateLimiter.Caller(nil, at: "a")

    @Test func `a minute's worth at once, then as time fills it up`() {
        let limiter = limiter(6)
        for left in (0..<6).reversed() {
            let standing = limiter.take(caller)
            #expect(standing.wait == nil && standing.remaining == left && standing.limit == 6)
        }
        clock.advance(4)
        #expect(limiter.take(caller).wait.map { $0 > .seconds(5.9) && $0 < .seconds(6.1) } == true)
        clock.advance(6.1)
        #expect(limiter.take(caller).wait == nil)
        #expect(limiter.take(caller).wait != nil)
        clock.advance(3600)
        #expect(limiter.take(caller).remaining == 5)
        #expect(limiter.take(.init(nil, at: "b")).remaining == 5)
        #expect(limiter.take(.init(.init(kind: .apiKey, id: "a"), at: "a")).remaining == 5)
    }

    @Test func `callers are forgotten beyond a bound, those that used least first`() {
        let limiter = limiter(10, most: 50)
        for _ in 0..<10 { _ = limiter.take(caller) }
        for number in 0..<1000 {
            _ = limiter.take(.init(nil, at: "x\(number)"))
            #expect(limiter.bucketCount <= 50)
        }
        #expect(limiter.take(caller).wait != nil)
    }

    private func ask(_ door: FrontDoor, _ method: String, key: String, path: String = "/v1/x") async throws -> Response
    {
        try await door.respond(
            to: Request(
                method: method, target: path, path: path, headers: ["Authorization": "Bearer \(key)"],
                peer: "10.0.0.1:99"))
    }

    @Test func `each key has its own, and is told what is left, also of what failed`() async throws {
        var door = FrontDoor(keys: try apiKeys("sk-one", "sk-two"), origins: .init()) { context in
            if context.request.path == "/fail" { throw Broken() }
            return .text("ok")
        }
        door.limiter = limiter(2)
        let first = try await ask(door, "POST", key: "sk-one")
        #expect(first.status == 200)
        #expect(first.headers["x-ratelimit-limit-requests"] == "2")
        #expect(first.headers["x-ratelimit-remaining-requests"] == "1")
        #expect(first.headers["x-ratelimit-reset-requests"] == "30000ms")
        let failed = try await ask(door, "POST", key: "sk-one", path: "/fail")
        #expect(failed.status == 500 && failed.headers["x-ratelimit-remaining-requests"] == "0")
        let refused = try await ask(door, "POST", key: "sk-one")
        #expect(refused.status == 429 && refused.headers["Retry-After"] == "30")
        guard case .bytes(let body) = refused.body else { throw Broken() }
        #expect(String(decoding: body, as: UTF8.self).contains("rate_limit_exceeded"))
        #expect(try await ask(door, "GET", key: "sk-one").status == 200)
        #expect(try await ask(door, "POST", key: "sk-two").status == 200)
        #expect(try await ask(door, "POST", key: "wrong").status == 401)
    }

    @Test(arguments: [
        (Principal(kind: .app, id: "chat"), true), (Principal(kind: .product, id: "notes"), true),
        (Principal(kind: .app, id: "chat", session: "s"), false),
        (Principal(kind: .product, id: "notes", session: "t"), false), (Principal(kind: .apiKey, id: "1"), false),
        (Principal(kind: .partner, id: "acme"), false),
    ])
    func `a device that hammers with its app's key does not starve the others, but no one has a key per address`(
        _ principal: Principal, _ isShared: Bool
    ) async throws {
        let limiter = limiter(2)
        func ask(_ peer: String) async throws -> Int {
            let request = Request(method: "POST", target: "/auth_token", path: "/auth_token", peer: peer)
            return try await limiter.limiting(RequestContext(request, principal: principal)) { .text("ok") }.status
        }
        for status in [200, 200, 429, 429] { #expect(try await ask("10.0.0.1:9") == status) }
        #expect(try await ask("10.0.0.2:9") == (isShared ? 200 : 429))
        #expect(try await ask("10.0.0.1:10") == 429)
    }

    @Test func `without keys an address is counted`() async throws {
        var door = FrontDoor(keys: try apiKeys(), origins: .init()) { _ in .text("ok") }
        door.limiter = limiter(1)
        #expect(try await ask(door, "POST", key: "any").status == 200)
        #expect(try await ask(door, "POST", key: "other").status == 429)
    }
}
