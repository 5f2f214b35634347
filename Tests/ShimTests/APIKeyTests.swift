import CommandLineParsing
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite struct APIKeyTests {
    static let paths = [
        ("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("GET", "/props"), ("GET", "/metrics"),
        ("POST", "/v1/chat/completions/"), ("GET", "/nothing"), ("GET", "/health/"), ("GET", "/HEALTH"),
        ("OPTIONS", "/v1/models"), ("GET", "//health"), ("GET", "/page"),
    ]

    @Test(arguments: paths) func `every route asks for a key`(_ method: String, _ path: String) async throws {
        let door = FrontDoor(keys: try apiKeys("sk-one", "sk-two"))
        let wrong: [Headers] = [
            [:], ["Authorization": "Bearer sk-three"], ["Authorization": "Bearer sk-on"],
            ["Authorization": "Bearer sk-one2"], ["Authorization": "Bearer SK-ONE"], ["Authorization": "Bearer"],
            ["Authorization": "Bearer "], ["Authorization": "sk-one"], ["Authorization": "Basic sk-one"],
            ["Authorization": "Bearer sk-one sk-two"], ["x-api-key": "sk"], ["x-api-key": ""],
            ["Authorization": "Bearer wrong", "x-api-key": "sk-one"],
        ]
        for headers in wrong {
            let answer = try await door.answer(method, path, headers)
            #expect(answer.status == 401, "\(headers)")
            #expect(answer.headers["WWW-Authenticate"] == "Bearer")
            #expect(answer.error["code"] as? String == "invalid_api_key")
            #expect(answer.error["type"] as? String == "invalid_request_error")
            #expect(Set(answer.error.keys) == ["message", "type", "param", "code"])
            #expect((answer.error["message"] as? String)?.contains("sk-") == false)
        }
        let right: [Headers] = [
            ["Authorization": "Bearer sk-one"], ["authorization": "bearer sk-two"],
            ["Authorization": "Bearer  sk-two"], ["X-API-Key": "sk-one"],
        ]
        for headers in right { #expect(try await door.answer(method, path, headers).status == 200, "\(headers)") }
    }

    @Test(arguments: ["/", "/health", "/ready", "/page/chat.js"])
    func `health checks and the page need none`(_ path: String) async throws {
        #expect(try await FrontDoor(keys: apiKeys("sk-one")).answer("GET", path).status == 200)
    }

    @Test(arguments: [[:], ["Authorization": "Bearer x"], ["Authorization": "?"]] as [Headers])
    func `without keys any Authorization will do`(_ headers: Headers) async throws {
        #expect(try await FrontDoor(keys: apiKeys()).answer("GET", "/v1/models", headers).status == 200)
    }

    @Test func `a file has a key a line, and comments`() async throws {
        let directory = try TemporaryDirectory()
        let text = "# keys of the team\r\n\r\n  sk-one \r\nsk-two\n\n#sk-three\nsk-four"
        let file = try directory.write(Array(text.utf8), as: "keys")
        let keys = try withExtendedLifetime(directory) { try APIKeys(file: file, variable: "sk-five") }
        let door = FrontDoor(keys: keys)
        for key in ["sk-one", "sk-two", "sk-four", "sk-five"] {
            #expect(try await door.answer("GET", "/props", ["x-api-key": key]).status == 200, "\(key)")
        }
        for key in ["sk-three", "#sk-three", "# keys of the team", ""] {
            #expect(try await door.answer("GET", "/props", ["x-api-key": key]).status == 401, "\(key)")
        }
    }

    @Test(arguments: [
        ("", "the file contains no key"), ("# nothing\n\n", "the file contains no key"), ("sk-one\nsk two", "line 2"),
        ("sk-ü", "line 1"), ("sk-\u{1}", "line 1"),
    ])
    func `a file without keys, or with a line that is none, is refused`(_ text: String, _ reason: String) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(Array(text.utf8), as: "keys")
        let error = withExtendedLifetime(directory) {
            #expect(throws: UsageError.self) { try APIKeys(file: file, variable: nil) }
        }
        #expect(error?.description.contains(file) == true)
        #expect(error?.description.contains(reason) == true)
        #expect(error?.description.contains("sk-") == false)
    }

    @Test func `a missing file is named, and so is a variable that holds no key`() throws {
        let missing = #expect(throws: UsageError.self) { try APIKeys(file: "/nowhere/keys", variable: nil) }
        #expect(missing?.description.contains("/nowhere/keys") == true)
        for variable in ["", "two keys", "line\n"] {
            let error = #expect(throws: UsageError.self) { try APIKeys(file: nil, variable: variable) }
            #expect(error?.description.contains("LOCALLLM_API_KEY") == true)
        }
    }

    @Test func `a file that everybody may read is told from one that only some may`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write([0x61], as: "keys")
        for (mode, expected) in [(0o600, false), (0o640, false), (0o644, true), (0o404, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            #expect(APIKeys.isReadableByAll(file) == expected)
        }
        #expect(!APIKeys.isReadableByAll("/nowhere/keys"))
        withExtendedLifetime(directory) {}
    }
}
