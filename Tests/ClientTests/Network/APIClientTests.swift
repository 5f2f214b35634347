import Foundation
import HTTP
import Testing
import TestSupport
import Wire

@testable import Client

@Suite("APIClient")
struct APIClientTests {
    private func client(_ url: URL, patience: Duration = .seconds(120), log: Record<String> = Record()) -> APIClient {
        APIClient(url, .bearer("key"), [:], patience, .short) { log.add($0) }
    }

    /// What comes of a call that a server answers in some way, and what is logged.
    private func failure(
        patience: Duration = .seconds(120), _ handler: @escaping Server.Handler
    ) async throws -> (error: APIClientError?, log: String, requests: Int) {
        let log = Record<String>()
        let requests = Record<String>()
        let error = try await withServer({ request in
            requests.add(request.target)
            return try await handler(request)
        }) { url in
            await #expect(throws: APIClientError.self) {
                try await client(url, patience: patience, log: log).post(
                    "/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self)
            }
        }
        return (error, log.text, requests.all.count)
    }

    @Test(
        arguments: zip(
            [#"{"role": "assistant"}"#, #"{"role": "assistant", "content": 5}"#, "<html>", "", "[]"],
            [
                "content: required, but missing", "content: expected a string, found a number", "JSON", "empty",
                "expected an object, found an array",
            ]))
    func `an answer that is not as expected is logged with the place`(body: String, reason: String) async throws {
        let (error, log, _) = try await failure { _ in .json(body) }
        #expect(error == .decode)
        #expect(log.contains("POST /chatgpt") && log.contains(reason), "\(log)")
    }

    @Test(arguments: [
        (401, APIClientError.unAuthorized(code: 401)), (403, .unAuthorized(code: 403)),
        (400, .serverError(code: 400)), (429, .serverError(code: 429)), (500, .serverError(code: 500)),
        (302, .unknown),
    ])
    func `statuses`(status: Int, expected: APIClientError) async throws {
        let (error, log, requests) = try await failure { _ in
            var response = Response.text("because\nof this\u{1B}[2J", status: status)
            response.headers["Location"] = "/elsewhere"
            return response
        }
        #expect(error == expected)
        #expect(log == "POST /chatgpt: status \(status): becauseof this[2J")
        #expect(requests == 1)
    }

    @Test
    func `a server that says nothing is given up`() async throws {
        let (error, log, requests) = try await failure(patience: .seconds(1)) { _ in
            try await Task.sleepForEver()
            return .json("{}")
        }
        #expect(error == .noResponse)
        #expect(log.contains("nothing came for 1.0 seconds"))
        #expect(requests == 1)
    }

    @Test
    func `an answer that breaks off is not asked for again`() async throws {
        let (error, log, requests) = try await failure { _ in
            .stream { writer in
                try await writer.write(Array(#"{"role":"#.utf8))
                throw CancellationError()
            }
        }
        #expect(error == .noResponse)
        #expect(!log.isEmpty)
        #expect(requests == 1)
    }

    @Test
    func `an answer without end is not held`() async throws {
        let sent = Record<Int>()
        let (error, log, _) = try await failure { _ in
            .stream { writer in
                let spaces = [UInt8](repeating: 0x20, count: 1 << 20)
                while true {
                    try await writer.write(spaces)
                    sent.add(spaces.count)
                }
            }
        }
        #expect(error == .decode)
        // No more than is taken, and what the system has room for on the way.
        #expect(sent.all.reduce(0, +) < 2 * APIClient.longestAnswer)
        #expect(log.contains("over \(APIClient.longestAnswer) bytes"))
    }

    /// Nobody listens there; a port that was free a moment ago may be another test's by now.
    private let nowhere = URL(string: "http://127.0.0.1:1")!

    @Test
    func `a server that cannot be reached is tried again, with pauses`() async throws {
        let log = Record<String>()
        await #expect(throws: APIClientError.noResponse) {
            try await client(nowhere, log: log).post("/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self)
        }
        #expect(log.all.filter { $0.contains("Trying again") }.count == 2)
        #expect(log.all.count == 3)
    }

    @Test
    func `cancelling ends the pause before another attempt`() async throws {
        let log = Record<String>()
        let client = APIClient(nowhere, .bearer("key"), [:], .seconds(120), .init(unreachable: [.seconds(30)])) {
            log.add($0)
        }
        let call = Task { try await client.post("/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self) }
        #expect(await eventually { log.text.contains("Trying again") })
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test(arguments: [
        ("ftp://127.0.0.1", "/a"), ("http:///a", "/a"), ("relative", "/a"), ("http://127.0.0.1:9", "a"),
        ("http://127.0.0.1:9", "/a/../b"), ("http://127.0.0.1:9", "/./b"),
    ])
    func `what is no address is not asked`(base: String, path: String) async throws {
        let url = try #require(URL(string: base))
        await #expect(throws: APIClientError.invalidURL) {
            try await client(url).post(path, ["prompt": "Hi"], as: RoleAndContent.self)
        }
    }

    @Test(arguments: [false, true])
    func `cancelling ends the transfer, whether or not the answer has begun`(hasBegun: Bool) async throws {
        let asked = Record<Void>()
        let left = Record<Void>()
        @Sendable func waitForEver() async throws {
            asked.add(())
            do {
                try await Task.sleepForEver()
            } catch {
                left.add(())
                throw error
            }
        }
        try await withServer({ _ in
            guard hasBegun else {
                try await waitForEver()
                return .json("{}")
            }
            return .stream { writer in
                try await writer.write(Array("{".utf8))
                try await waitForEver()
            }
        }) { url in
            let call = Task { try await client(url).post("/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self) }
            #expect(await eventually { !asked.all.isEmpty })
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(await eventually { !left.all.isEmpty })
        }
    }

    @Test
    func `a task that is cancelled before it asks, asks nobody`() async throws {
        let requests = Record<String>()
        try await withServer({ request in
            requests.add(request.target)
            return .json("{}")
        }) { url in
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await client(url).post("/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self)
            }
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(requests.all.isEmpty)
    }

    @Test
    func `every error says something to a user`() {
        let errors: [APIClientError] = [
            .invalidURL, .noResponse, .decode, .unAuthorized(code: 401), .serverError(code: 500), .unknown,
        ]
        let texts = errors.map(\.localizedDescription)
        #expect(Set(texts).count == errors.count)
        #expect(texts[3].contains("401") && texts[4].contains("500"))
    }
}
