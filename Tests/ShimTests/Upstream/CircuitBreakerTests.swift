import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(2))) struct CircuitBreakerTests {
    private let start = ContinuousClock.now

    private func opened() throws -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failuresToOpen { breaker.fails(try breaker.ticket(start), start) }
        return breaker
    }

    @Test func `opens after failures in a row only`() throws {
        var breaker = CircuitBreaker()
        for _ in 0..<3 {
            for _ in 1..<CircuitBreaker.failuresToOpen { breaker.fails(try breaker.ticket(start), start) }
            breaker.succeeds(try breaker.ticket(start))
        }
        #expect(breaker.state == .closed(failures: 0))
        breaker = try opened()
        #expect(breaker.state == .open(until: start + CircuitBreaker.pause))
        let early = breaker.admit(start + CircuitBreaker.pause - .seconds(1))
        #expect(early == nil)
        #expect(breaker.wait(start + .seconds(10)) == .seconds(20))
    }

    @Test func `half-open lets one try, whose success closes it`() throws {
        var breaker = try opened()
        let later = start + CircuitBreaker.pause
        let probe = try breaker.ticket(later)
        #expect(breaker.state == .halfOpen)
        let second = breaker.admit(later)
        #expect(second == nil)
        breaker.begins(probe)
        #expect(breaker.state == .closed(failures: 0))
        // It may still break off, which counts like any other's.
        breaker.fails(probe, later)
        #expect(breaker.state == .closed(failures: 1))
    }

    @Test func `half-open opens again when the one fails, and lets another try when it leaves`() throws {
        var breaker = try opened()
        let later = start + CircuitBreaker.pause
        breaker.fails(try breaker.ticket(later), later)
        #expect(breaker.state == .open(until: later + CircuitBreaker.pause))
        let last = later + CircuitBreaker.pause
        breaker.isGivenUp(try breaker.ticket(last), last)
        _ = try breaker.ticket(last)
    }

    @Test func `what began before it opened says nothing any more`() throws {
        var breaker = CircuitBreaker()
        let old = try breaker.ticket(start)
        for _ in 0..<CircuitBreaker.failuresToOpen { breaker.fails(old, start) }
        let state = breaker.state
        breaker.succeeds(old)
        breaker.fails(old, start + .seconds(5))
        #expect(breaker.state == state)
        _ = try breaker.ticket(start + CircuitBreaker.pause)
        breaker.isGivenUp(old, start)
        breaker.begins(old)
        #expect(breaker.state == .halfOpen)
    }

    @Test func `clients of an upstream that fails are told to wait, and then it is tried`() async throws {
        let works = Counter()
        let fake = FakeUpstream { _ in works.value == 0 ? .text("oh", status: 503) : json(completion) }
        try await fake.run { port in
            let clock = FakeClock()
            let router = try router(ScriptedLanguageModel()).with(upstream: port, clock: clock)
            let ask = { try await throughDoor(router, chatRequest(chatBody(model: "g"))) }
            let failures = CircuitBreaker.failuresToOpen
            for _ in 0..<failures { #expect(try await ask().status == 502) }
            let refused = try await ask()
            #expect(refused.status == 503 && refused.errorCode == "upstream_unavailable")
            #expect(refused.header("Retry-After") == "30")
            #expect(fake.count == failures)
            #expect(await router.answer("GET", "/health").json["upstream"] as? String == "open")
            #expect(await router.answer("GET", "/health").status == 200)
            #expect(await router.answer("GET", "/metrics").text.contains(#"shim_upstream_circuit{state="open"} 1"#))
            works.add()
            #expect(try await ask().status == 503)
            clock.advance(by: CircuitBreaker.pause)
            #expect(try await ask().status == 200)
            #expect(try await ask().status == 200)
            #expect(await router.answer("GET", "/health").json["upstream"] as? String == "closed")
            let metrics = await router.answer("GET", "/metrics").text
            #expect(metrics.contains("shim_answers_total{engine=\"upstream\"} \(failures + 4)"))
        }
    }

    @Test func `one client's requests that make the upstream fail do not open the circuit for all`() throws {
        let start = ContinuousClock.now
        var breaker = CircuitBreaker()
        for _ in 0..<20 { breaker.fails(try breaker.ticket(start), start, for: "a") }
        #expect(breaker.state == .closed(failures: 1))
        // Nor do those of two that take turns.
        for _ in 0..<20 {
            for client in ["b", "a"] { breaker.fails(try breaker.ticket(start), start, for: client) }
        }
        #expect(breaker.state == .closed(failures: 2))
        for client in ["c", "d", "e"] { breaker.fails(try breaker.ticket(start), start, for: client) }
        #expect(breaker.state == .open(until: start + CircuitBreaker.pause))
    }

    @Test func `an answer that one client's request may have spoilt does not cut off the others`() async throws {
        let fake = FakeUpstream { request in
            String(decoding: request.body.bytes ?? [], as: UTF8.self).contains("nonsense")
                ? .text("oh", status: 500) : json(completion)
        }
        try await fake.run { port in
            let router = try router(ScriptedLanguageModel()).with(upstream: port)
            for _ in 0..<2 * CircuitBreaker.failuresToOpen {
                let body = chatBody(#""nonsense": 1"#, model: "g")
                #expect(try await throughDoor(router, chatRequest(body)).status == 502)
            }
            #expect(try await throughDoor(router, chatRequest(chatBody(model: "g"))).status == 200)
        }
    }

    @Test func `refusals of a client's request are no failures`() async throws {
        let fake = FakeUpstream { _ in json(#"{"error":{"message":"no"}}"#, status: 400) }
        try await fake.run { port in
            let router = try router(ScriptedLanguageModel()).with(upstream: port)
            for _ in 0...CircuitBreaker.failuresToOpen {
                #expect(try await throughDoor(router, chatRequest(chatBody(model: "g"))).status == 400)
            }
            #expect(router.upstream?.circuit == .closed(failures: 0))
        }
    }
}

extension CircuitBreaker {
    fileprivate mutating func ticket(_ now: Instant) throws -> Ticket {
        guard let ticket = admit(now) else { throw Broken() }
        return ticket
    }
}
