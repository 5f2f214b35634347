import Foundation
import HTTP
import LocalLLM
import Synchronization
import Testing
import Wire

@testable import Client

@Suite("Sessions and signatures")
struct SessionTests {
    @Test
    func `calls are signed: the first with the app's key, the others with the session's token`() async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            let client = APIClient(url)
            let messages: [ChatMessage] = [.user("Hi"), .assistant("Hello"), .user("How are you? 🙂")]
            let answers = [
                try await ChatService(client).respond(to: messages),
                try await ChatSimpleService(client).respond(to: "Hi"),
            ]
            #expect(answers == [.assistant("Hello."), .assistant("Hello.")])
        }
        #expect(backend.requests.map(\.target) == ["/auth_token", "/chatgpt", "/chatgpt-simple"])
        #expect(backend.refusals == [])
        let bodies = backend.requests.map { String(decoding: $0.body.bytes ?? [], as: UTF8.self) }
        #expect(
            bodies[1] == #"{"messages":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"},"#
                + #"{"content":"How are you? 🙂","role":"user"}]}"#)
        #expect(bodies[2] == #"{"prompt":"Hi"}"#)
    }

    @Test func `a call without a body is signed too, by its method`() async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            let answer: RoleAndContent = try await APIClient(url).call("/dinners/today")
            #expect(answer.content == "Hello.")
        }
        let request = try #require(backend.requests.last)
        #expect((request.method, request.target) == ("GET", "/dinners/today") && request.body.length == 0)
        #expect(request.headers["Content-Type"] == nil && backend.refusals == [])
    }

    @Test
    func `no request shows a key`() async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            _ = try await ChatService(APIClient(url)).respond(to: [.user("Hi")])
        }
        let keys = backend.state.withLock { $0.tokens } + [FakeBackend.authKey]
        #expect(keys.count == 2)
        for request in backend.requests {
            let sent =
                request.headers.fields.map(\.value) + [
                    request.target, String(decoding: request.body.bytes ?? [], as: UTF8.self),
                ]
            for key in keys { #expect(!sent.joined().contains(key)) }
        }
    }

    @Test(arguments: ["/v2", "/a b", "/grün/50%", "/a?b=c#d", "/é;x=1"])
    func `what follows the endpoint is signed as it is sent`(suffix: String) async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            let answer = try await APIClient(url).post("/chatgpt" + suffix, ["prompt": "Hi"], as: RoleAndContent.self)
            #expect(answer.content == "Hello.")
        }
        #expect(backend.requests.last?.path == "/chatgpt" + suffix)
        #expect(backend.refusals == [])
    }

    @Test
    func `a path of the server's address stands before the endpoint's`() async throws {
        let backend = FakeBackend()
        try await withServer({ request in
            #expect(request.target.utf8.starts(with: "/api/".utf8))
            var inner = request
            inner.path.removeFirst(4)
            return try await backend.handle(inner)
        }) { url in
            let client = APIClient(url.appending(path: "api/"))
            _ = try await client.post("/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self)
        }
        #expect(backend.requests.map(\.target) == ["/api/auth_token", "/api/chatgpt"])
    }

    @Test
    func `with a wrong app key the server refuses, and is not asked again`() async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            await #expect(throws: APIClientError.unAuthorized(code: 401)) {
                try await ChatService(APIClient(url, authKey: "other")).respond(to: [.user("Hi")])
            }
        }
        #expect(backend.requests.map(\.target) == ["/auth_token"])
    }

    @Test
    func `after a 401 the session is renewed, and the call repeated once`() async throws {
        let backend = FakeBackend()
        let log = Record<String>()
        try await withServer(backend.handle) { url in
            let client = APIClient(url, log: log)
            _ = try await ChatService(client).respond(to: [.user("Hi")])
            backend.revokeAll()
            let answer = try await ChatService(client).respond(to: [.user("Hi")])
            #expect(answer.content == "Hello.")
        }
        #expect(backend.requests.map(\.target) == ["/auth_token", "/chatgpt", "/chatgpt", "/auth_token", "/chatgpt"])
        #expect(log.text.contains("status 401") && log.text.contains("not accepted"))
    }

    @Test
    func `a server that accepts no session is not asked a third time`() async throws {
        let backend = FakeBackend { _ in .json("{}", status: 401) }
        try await withServer(backend.handle) { url in
            await #expect(throws: APIClientError.unAuthorized(code: 401)) {
                try await ChatService(APIClient(url)).respond(to: [.user("Hi")])
            }
        }
        #expect(backend.count("/chatgpt") == 2)
        #expect(backend.count("/auth_token") == 2)
    }

    @Test
    func `calls at the same time share a session, and its renewal`() async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            let service = ChatService(APIClient(url))
            for round in 1...2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<8 {
                        group.addTask { _ = try await service.respond(to: [.user("\(number)")]) }
                    }
                    try await group.waitForAll()
                }
                #expect(backend.count("/auth_token") == round)
                backend.revokeAll()
            }
        }
    }

    @Test
    func `equal calls in the same second have signatures of their own`() async throws {
        let backend = FakeBackend()
        try await withServer(backend.handle) { url in
            let service = ChatService(APIClient(url))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await service.respond(to: [.user("Hi")]) } }
                try await group.waitForAll()
            }
        }
        #expect(backend.refusals == [])
    }

    @Test
    func `a token that is about to expire is renewed before it is used`() async throws {
        let backend = FakeBackend()
        backend.state.withLock { $0.lifetime = 20 }
        try await withServer(backend.handle) { url in
            let service = ChatService(APIClient(url))
            for _ in 0..<2 { _ = try await service.respond(to: [.user("Hi")]) }
        }
        #expect(backend.count("/auth_token") == 2)
        #expect(backend.refusals == [])
    }

    @Test
    func `the session outlives the app`() async throws {
        let backend = FakeBackend()
        let store = MemorySecretStore()
        try await withServer(backend.handle) { url in
            for text in ["Hi", "Me again"] {
                _ = try await ChatService(APIClient(url, store: store)).respond(to: [.user(text)])
            }
        }
        #expect(backend.count("/auth_token") == 1)
    }

    @Test
    func `apps with keys of their own have sessions of their own, in the same store`() async throws {
        let backend = FakeBackend()
        let store = MemorySecretStore()
        try await withServer(backend.handle) { url in
            _ = try await ChatService(APIClient(url, store: store)).respond(to: [.user("Hi")])
            await #expect(throws: APIClientError.unAuthorized(code: 401)) {
                try await ChatService(APIClient(url, authKey: "other", store: store)).respond(to: [.user("Hi")])
            }
        }
    }

    @Test
    func `a store that holds garbage, and keeps nothing, is said and gone without`() async throws {
        let backend = FakeBackend()
        let log = Record<String>()
        try await withServer(backend.handle) { url in
            _ = try await ChatService(APIClient(url, store: BrokenStore(), log: log)).respond(to: [.user("Hi")])
        }
        #expect(log.text.contains("The session that was kept cannot be used: The body could not be read as JSON"))
        #expect(log.text.contains("The session cannot be kept: full"))
        #expect(backend.count("/auth_token") == 1)
    }
}

private struct BrokenStore: SecretStore {
    func secret(named _: String) -> [UInt8]? { Array("garbage".utf8) }
    func keep(_: [UInt8], named _: String, until _: Date) throws(SecretStoreError) { throw SecretStoreError("full") }
    func remove(named _: String) {}
}
