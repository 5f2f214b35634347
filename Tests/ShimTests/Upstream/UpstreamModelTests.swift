import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(2))) struct UpstreamModelTests {
    private func ids(_ router: Services) async -> [String] {
        let list = await router.answer("GET", "/v1/models").json["data"] as? [[String: Any]] ?? []
        return list.compactMap { $0["id"] as? String }
    }

    @Test func `the upstream's models are listed after ours, and asked for once`() async throws {
        let list = #"{"data":[{"id":"gpt-x","created":5,"owned_by":"them"},{"id":"y"},{"id":"Test-Q4"}]}"#
        let fake = FakeUpstream { _ in json(list) }
        try await fake.run { port in
            let clock = FakeClock()
            let router = try router(ScriptedLanguageModel()).with(upstream: port, clock: clock)
            #expect(await ids(router) == ["Test-Q4", "gpt-x", "y"])
            #expect(fake.last?.target == "/v1/models" && fake.last?.headers["Authorization"] == "Bearer \(upstreamKey)")
            let card = await router.answer("GET", "/v1/models/gpt-x").json
            #expect(card["owned_by"] as? String == "them" && card["created"] as? Int == 5 && card["state"] == nil)
            #expect(await router.answer("GET", "/v1/models/y").json["owned_by"] as? String == "upstream")
            #expect(await router.answer("GET", "/v1/models/Test-Q4").json["owned_by"] as? String == "local")
            #expect(await router.answer("GET", "/v1/models/z").status == 404)
            #expect(fake.count == 1)
            clock.advance(by: .seconds(301))
            #expect(await ids(router).count == 3)
            #expect(fake.count == 2)
        }
    }

    @Test(arguments: ["<html>", "{}", #"{"data":[{"name":"x"}]}"#]) func `a list that cannot be had changes nothing`(
        _ answer: String
    ) async throws {
        let fake = FakeUpstream { _ in json(answer) }
        try await fake.run { port in
            let router = try router(ScriptedLanguageModel()).with(upstream: port)
            for _ in 0..<3 { #expect(await ids(router) == ["Test-Q4"]) }
            #expect(fake.count == 1)
            #expect(router.upstream?.circuit == .closed(failures: 0))
        }
        let endless = FakeUpstream { _ in json(String(repeating: " ", count: 5 << 20) + #"{"data":[{"id":"x"}]}"#) }
        try await endless.run { port in
            let router = try router(ScriptedLanguageModel()).with(upstream: port)
            #expect(await ids(router) == ["Test-Q4"])
        }
    }
}
