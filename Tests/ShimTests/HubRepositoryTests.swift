import CommandLineParsing
import Foundation
import HTTP
import JSON
import TestSupport
import Testing
import Synchronization
import Wire
import Tokenizer

@testable import Shim

/// `shim pull hf:OWNER/REPOSITORY`.
@Suite(.timeLimit(.minutes(2))) struct HubRepositoryTests {
    private static let tree = """
        [{"type": "directory", "path": "sub", "size": 0}, {"type": "file", "path": "README.md", "size": 10},
         {"type": "file", "path": "M-Q8_0.gguf", "size": 900}, {"type": "file", "path": "M-Q4_K_M.gguf", "size": 500},
         {"type": "file", "path": "sub/M-F16-00001-of-00002.gguf", "size": 1000},
         {"type": "file", "path": "sub/M-F16-00002-of-00002.gguf", "size": 1001},
         {"type": "file", "path": "mmproj-M-F16.gguf", "size": 5}]
        """

    /// What a hub answers about a repository, and what it was asked.
    private func list(
        _ text: String, status: Int = 200, _ body: String = tree
    ) async throws -> (HubRepository, [HubRepository.Quantization], FakeUpstream) {
        let host = FakeUpstream { _ in json(body, status: status) }
        return try await host.run { port in
            let hub = try #require(URL(string: "http://127.0.0.1:\(port)"))
            let repository = try #require(try HubRepository(text, hub: hub))
            return (repository, HubRepository.quantizations(in: try await repository.entries(token: "tok")), host)
        }
    }

    @Test func `a repository's models are listed by quantization, split ones as one`() async throws {
        let (repository, found, host) = try await list("hf:ann/M-GGUF")
        #expect(found.map(\.name) == ["Q4_K_M", "Q8_0", "F16"])
        #expect(found.map(\.bytes) == [500, 900, 2001])
        #expect(found[2].path == "sub/M-F16-00001-of-00002.gguf")
        #expect(host.last?.target == "/api/models/ann/M-GGUF/tree/main?recursive=true")
        #expect(host.last?.headers["Authorization"] == "Bearer tok")
        #expect(try repository.choose(from: found) == nil)
        #expect(repository.describe(found).contains("shim pull hf:ann/M-GGUF:Q4_K_M"))
        let entries = try JSON.decode([HubRepository.Entry].self, from: Array(Self.tree.utf8))
        #expect(repository.describe(found, entries: entries).contains("shim pull hf:ann/M-GGUF/mmproj-M-F16.gguf"))
    }

    @Test func `sizes that no file has do not overflow`() async throws {
        let files = ["M-00001-of-00002", "M-00002-of-00002"].map {
            #"{"type": "file", "path": "\#($0).gguf", "size": \#(Int.max)}"#
        }
        let (_, found, _) = try await list("hf:ann/M-GGUF", "[\(files.joined(separator: ","))]")
        #expect(found.count == 1 && found[0].bytes > 0)
        let (_, negative, _) = try await list("hf:ann/M", #"[{"type": "file", "path": "a.gguf", "size": \#(Int.min)}]"#)
        #expect(negative[0].bytes == 0)
    }

    @Test func `a quantization is taken by its name, whatever its case; others are refused with the list`() async throws
    {
        let (chosen, found, _) = try await list("hf:ann/M-GGUF:q8_0@v2")
        #expect(try chosen.choose(from: found) == "hf:ann/M-GGUF/M-Q8_0.gguf@v2")
        let other = try #require(try HubRepository("hf:ann/M-GGUF:Q2_K"))
        let error = #expect(throws: PullError.self) { try other.choose(from: found) }
        #expect(error?.errorDescription?.contains("Q8_0") == true)
        let only = try #require(try HubRepository("hf:ann/M-GGUF"))
        #expect(try only.choose(from: [found[0]]) == "hf:ann/M-GGUF/M-Q4_K_M.gguf@main")
        #expect(only.describe([]).contains("no GGUF files"))
    }

    @Test func `what names a file or another host is no repository, and half a name is refused`() throws {
        #expect(try HubRepository("hf:ann/M/file.gguf") == nil)
        #expect(try HubRepository("https://example.org/M.gguf") == nil)
        for text in ["hf:ann/", "hf:/M", "hf:ann/M:", "hf:ann/..", "hf:ann/M:a:b", "hf:ann/M@"] {
            #expect(throws: UsageError.self, "\(text)") { try HubRepository(text) }
        }
    }

    @Test(arguments: [
        (404, "{}", "No such repository"), (401, "{}", "HF_TOKEN"), (500, "{}", "status 500"), (200, "{}", "list"),
    ])
    func `what a hub answers instead is told`(_ status: Int, _ body: String, _ word: String) async {
        let error = await #expect(throws: PullError.self) { try await list("hf:ann/M", status: status, body) }
        #expect(error?.errorDescription?.contains(word) == true, "\(error?.errorDescription ?? "")")
    }

    // MARK: Pages

    /// Lists the files of a hub whose pages have one file each: `0.gguf`, `1.gguf` and so on.
    ///
    /// - Parameter link: The `Link` header of a page, by its number and the hub's URL; `nil`: none.
    private func listPages(
        link: @escaping @Sendable (_ page: Int, _ hub: String) -> String?
    ) async throws -> (paths: [String], host: FakeUpstream) {
        let host = FakeUpstream { request in
            let page = request.target.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) } ?? 0
            var response = json(#"[{"type": "file", "path": "\#(page).gguf", "size": 1}]"#, status: 200)
            response.headers["Link"] = link(page, "http://\(request.headers["Host"] ?? "")")
            return response
        }
        let paths = try await host.run { port in
            let hub = try #require(URL(string: "http://127.0.0.1:\(port)"))
            let repository = try #require(try HubRepository("hf:ann/M", hub: hub))
            return try await repository.entries(token: "tok").map(\.path)
        }
        return (paths, host)
    }

    private static let nextPath = "/api/models/ann/M/tree/main?recursive=true&cursor="

    @Test(arguments: [true, false])
    func `a list on several pages is read whole, and each page is asked for with the token`(isAbsolute: Bool)
        async throws
    {
        let (paths, host) = try await listPages { page, hub in
            guard page < 2 else { return #"<\#(hub)/first>; rel="first""# }
            return
                #"<\#(hub)/first>; rel="first", <\#(isAbsolute ? hub : "")\#(Self.nextPath)\#(page + 1)>; rel="next""#
        }
        #expect(paths == ["0.gguf", "1.gguf", "2.gguf"])
        let requests = host.requests.withLock { $0 }
        #expect(
            requests.map(\.target) == ["/api/models/ann/M/tree/main?recursive=true"]
                + [1, 2].map { "\(Self.nextPath)\($0)" })
        #expect(requests.allSatisfy { $0.headers["Authorization"] == "Bearer tok" })
    }

    @Test func `a next page on another host or port is refused`() async throws {
        let other = FakeUpstream { _ in json("[]", status: 200) }
        try await other.run { port in
            for place in ["http://127.0.0.1:\(port)/", "http://localhost:\(port)/", "https://127.0.0.1/", "//[::1]/"] {
                let error = await #expect(throws: PullError.self) {
                    try await listPages { _, _ in "<\(place)>; rel=next" }
                }
                #expect(error?.description.contains("continues at '\(place)'") == true, "\(error?.description ?? "")")
            }
        }
        #expect(other.count == 0)
    }

    @Test func `a next page that was read already ends with an error`() async throws {
        let error = await #expect(throws: PullError.self) {
            try await listPages { page, hub in #"<\#(hub)\#(Self.nextPath)\#(page % 2 + 1)>; rel="next""# }
        }
        #expect(error?.description.contains("comes twice") == true, "\(error?.description ?? "")")
    }

    @Test func `a list whose pages do not end is an error`() async throws {
        let error = await #expect(throws: PullError.self) {
            try await listPages { page, hub in #"<\#(hub)\#(Self.nextPath)\#(page + 1)>; rel="next""# }
        }
        #expect(error?.description.contains("more than \(HubRepository.mostPages) pages") == true)
    }

    @Test(arguments: [
        (#"<a?x=1,2>; rel="next""#, "a?x=1,2"), (#"<a>; rel="prev", <b>; title="x, y"; REL=Next"#, "b"),
        (#"<a>; rel="last next""#, "a"), (#"<a>; rel="nexter""#, nil), ("<a>", nil), ("a; rel=next", nil), ("<a", nil),
        ("", nil),
    ])
    func `a link is found by its relation`(_ header: String, _ target: String?) {
        #expect(linkTarget("next", in: ["Link": header]) == target)
    }
}
