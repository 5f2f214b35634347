import CommandLineParsing
import Cryptography
import Foundation
import HTTP
import LocalLLM
import Synchronization
import Testing
import TestSupport
import Wire

@testable import Shim

@Suite(.timeLimit(.minutes(3))) struct PullTests {
    private let directory: TemporaryDirectory
    private let model = TinyModel().builder().bytes()

    init() throws { directory = try TemporaryDirectory() }

    /// - Returns: What was said.
    @discardableResult
    private func pull(
        _ text: String, sha256: String? = nil, token: String? = nil, hub: URL = PullSource.hub
    ) async throws -> String {
        var said: [String] = []
        try await Pull(text, into: directory.url, sha256: sha256, token: token, hub: hub).run(
            PullObserver(say: { said.append($0) }))
        return said.joined(separator: "\n")
    }

    private func failure(_ body: () async throws -> String) async -> String {
        let error = await #expect(throws: PullError.self) { try await body() }
        return error?.description ?? ""
    }

    private var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted()) ?? []
    }

    private func contents(_ name: String) -> [UInt8]? {
        (try? Data(contentsOf: directory.url.appendingPathComponent(name))).map { Array($0) }
    }

    private func digest(_ bytes: [UInt8]) -> String {
        let hash = SHA256()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.hexadecimal
    }

    @Test func `an unknown architecture is told before the rest is downloaded, and nothing is kept`() async throws {
        var builder = TinyModel().builder()
        builder.metadata[0] = ("general.architecture", .string("perceptron"))
        builder.metadata.append(("general.padding", .string(String(repeating: "x", count: 1 << 20))))
        let host = FileHost(builder.bytes(), at: "/m.gguf")
        try await host.run { url in
            let said = await failure { try await pull("\(url)/m.gguf") }
            #expect(said.contains("'perceptron' is not supported"))
            #expect(names == [])
        }
    }

    @Test func `an image encoder is pulled, and listed as one, not as a model`() async throws {
        var builder = TinyModel().builder()
        builder.metadata[0] = ("general.architecture", .string("clip"))
        builder.metadata.append(("general.padding", .string(String(repeating: "x", count: 1 << 20))))
        let host = FileHost(builder.bytes(), at: "/mmproj-M.gguf")
        try await host.run { url in
            _ = try await pull("\(url)/mmproj-M.gguf")
            #expect(names == ["mmproj-M.gguf"])
        }
        #expect(ModelListing(directory.url).text.contains("image encoder"))
        #expect(ModelCatalog(directory: directory.url).scan().isEmpty)
    }

    @Test(arguments: ["9223372036854775807", "9223372036854775808", "-1", "x", "17592186044417"])
    func `a length that no file has is refused`(_ length: String) throws {
        let url = try #require(URL(string: "https://example.org/m.gguf"))
        let error = #expect(throws: PullError.self) { try Download.total(length, after: 1000, of: url) }
        #expect(error?.description.contains(length) == true)
        #expect(try Download.total("24", after: 1000, of: url) == 1024)
        #expect(try Download.total(nil, after: 1000, of: url) == nil)
    }

    /// Without a length, too: then nothing is known of what comes.
    @Test func `a download leaves some of the disk free, and then nothing of itself`() async throws {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { [model] _ in
            Response(status: 200, body: .stream { try await $0.write(model) })
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/m.gguf"))
        let file = PullSource.File(url: url, name: "m.gguf")
        let free = try FileManager.default.attributesOfFileSystem(forPath: directory.url.path)[.systemFreeSize] as? Int
        var download = Download(file: file, directory: directory.url)
        download.keptBytes = try #require(free) * 2
        let error = await #expect(throws: PullError.self) { _ = try await download.run() }
        #expect(error?.description.contains("must stay free") == true)
        #expect(names == [])
        await server.stop(within: .zero)
    }

    // MARK: Going on

    @Test func `a file comes whole, under its name, with its digest`() async throws {
        let host = FileHost(model, at: "/some where/m.gguf")
        try await host.run { url in
            let said = try await pull("\(url)/some%20where/m.gguf?download=true")
            #expect(names == ["m.gguf"])
            #expect(contents("m.gguf") == model)
            #expect(said.contains("not verified") && said.contains(digest(model)))
            #expect(host.last?.headers["Authorization"] == nil)
            let again = try await pull("\(url)/some%20where/m.gguf")
            #expect(again.contains("already"))
            #expect(host.requests.withLock { $0.count } == 1)
        }
    }

    @Test(arguments: [true, false])
    func `a download that was broken off goes on, or begins anew where the server cannot`(
        _ takesRanges: Bool
    ) async throws {
        let host = FileHost(model, at: "/m.gguf")
        host.files.withLock { ($0.cut, $0.takesRanges) = (100_000, takesRanges) }
        try await host.run { url in
            #expect(await failure { try await pull("\(url)/m.gguf") }.contains("interrupted at"))
            #expect(names == ["m.gguf.part", "m.gguf.part.etag"])
            let there = contents("m.gguf.part")?.count ?? 0
            #expect((1...100_000).contains(there))
            host.files.withLock { $0.cut = nil }
            try await pull("\(url)/m.gguf")
            #expect(host.last?.headers["Range"] == "bytes=\(there)-")
            #expect(host.last?.headers["If-Range"] == #""v1""#)
            #expect(names == ["m.gguf"])
            #expect(contents("m.gguf") == model)
        }
    }

    /// The part may be there before its tag, whose file may be damaged as well.
    @Test func `a download that was killed at any byte is completed`() async throws {
        let host = FileHost(model, at: "/m.gguf")
        try await host.run { url in
            let counts = [0, 1, 3, 4, 24, 100, 4096, 65_536, model.count / 2, model.count - 1, model.count]
            for count in counts {
                for etag in [#""v1""#, nil, "", #""v"#, #""v1""# + "\r\nA: b"] {
                    _ = try directory.write(Array(model.prefix(count)), as: "m.gguf.part")
                    if let etag { _ = try directory.write(Array(etag.utf8), as: "m.gguf.part.etag") }
                    try await pull("\(url)/m.gguf")
                    #expect(names == ["m.gguf"], "\(count) \(etag ?? "no tag")")
                    #expect(contents("m.gguf") == model)
                    #expect(try removeModel("m", in: directory.url) == ["m.gguf"])
                }
            }
        }
    }

    @Test func `a server that leads on without end is given up`() async throws {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { _ in
            Response(status: 302, headers: ["Location": "/m.gguf"])
        }
        let said = await failure { try await pull("http://127.0.0.1:\(server.port)/m.gguf") }
        await server.stop(within: .zero)
        #expect(said.contains("more than 10 redirects"))
        #expect(names == [])
    }

    @Test func `what has changed at the server is fetched anew`() async throws {
        var other = TinyModel()
        other.layers = 1
        let new = other.builder().bytes()
        let host = FileHost(model, at: "/m.gguf")
        host.files.withLock { $0.cut = 50_000 }
        try await host.run { url in
            _ = await failure { try await pull("\(url)/m.gguf") }
            host.files.withLock { $0 = .init(contents: ["/m.gguf": new], etag: #""v2""#) }
            try await pull("\(url)/m.gguf", sha256: digest(new))
            #expect(contents("m.gguf") == new)
        }
    }

    @Test func `bytes without a strong tag are not gone on with`() async throws {
        let host = FileHost(model, at: "/m.gguf")
        host.files.withLock { ($0.cut, $0.etag) = (50_000, #"W/"v1""#) }
        try await host.run { url in
            _ = await failure { try await pull("\(url)/m.gguf") }
            host.files.withLock { $0.cut = nil }
            try await pull("\(url)/m.gguf")
            #expect(host.last?.headers["Range"] == nil)
            #expect(contents("m.gguf") == model)
        }
    }

    @Test func `a part that is already whole is only given its name; one that is too long is dropped`() async throws {
        let host = FileHost(model, at: "/m.gguf")
        try await host.run { url in
            for extra in [[], [1, 2, 3]] as [[UInt8]] {
                _ = try directory.write(model + extra, as: "m.gguf.part")
                _ = try directory.write(Array(#""v1""#.utf8), as: "m.gguf.part.etag")
                try await pull("\(url)/m.gguf")
                #expect(names == ["m.gguf"])
                #expect(contents("m.gguf") == model)
                #expect(try removeModel("m", in: directory.url) == ["m.gguf"])
            }
        }
    }

    /// A descriptor that is closed twice may meanwhile be another's.
    @Test func `a part that cannot be opened closes no other file`() async throws {
        let target = directory.url.appendingPathComponent("m.gguf")
        let part = try PartFile(for: target)
        let tries = Counter()
        async let lost = onThread {
            var lost = 0
            while tries.value < 5_000 {
                let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
                if close(file) != 0 { lost += 1 }
            }
            return lost
        }
        try await onThread {
            for _ in 0..<5_000 {
                #expect(throws: PullError.self) { try PartFile(for: target) }
                tries.add()
            }
        }
        #expect(try await lost == 0)
        withExtendedLifetime(part) {}
    }

    @Test func `nobody else writes a part that is open`() async throws {
        let target = directory.url.appendingPathComponent("m.gguf")
        let open = try PartFile(for: target)
        #expect(throws: PullError.self) { try PartFile(for: target) }
        withExtendedLifetime(open) {}
    }

    // MARK: Refusing

    @Test func `a wrong digest keeps nothing, the right one is said`() async throws {
        let host = FileHost(model, at: "/m.gguf")
        try await host.run { url in
            let wrong = String(repeating: "0", count: 64)
            let message = await failure { try await pull("\(url)/m.gguf", sha256: wrong) }
            #expect(message.contains(wrong) && message.contains(digest(model)))
            #expect(names.isEmpty)
            let said = try await pull("\(url)/m.gguf", sha256: digest(model).uppercased())
            #expect(said.contains("SHA-256 verified"))
        }
    }

    @Test func `what is no model keeps nothing`() async throws {
        let host = FileHost(Array("<html>Please log in</html>".utf8), at: "/m.gguf")
        try await host.run { url in
            #expect(await failure { try await pull("\(url)/m.gguf") }.contains("not a GGUF file"))
            #expect(names.isEmpty)
        }
    }

    @Test(arguments: [(404, "status 404"), (401, "HF_TOKEN"), (500, "status 500"), (416, "416")])
    func `an error of the server is told, and leaves nothing`(_ status: Int, _ word: String) async throws {
        let host = FileHost(.init(status: status))
        try await host.run { url in
            #expect(await failure { try await pull("\(url)/m.gguf") }.contains(word))
            #expect(names.isEmpty)
        }
    }

    @Test func `a body shorter than announced is cut off, one that no disk holds is not begun`() async throws {
        let short = try RawHost("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nGGUF")
        #expect(await failure { try await pull("\(short.url)/m.gguf") }.contains("interrupted at"))
        #expect(contents("m.gguf.part") == Array("GGUF".utf8))
        _ = try removeModel("m", in: directory.url)
        let huge = try RawHost("HTTP/1.1 200 OK\r\nContent-Length: 10000000000000\r\n\r\nGGUF")
        #expect(await failure { try await pull("\(huge.url)/m.gguf") }.contains("needs 10000 GB"))
        #expect(names.isEmpty)
    }

    @Test func `a host that is not there is named`() async throws {
        let gone = try await FileHost(.init()).run { $0 }
        #expect(await failure { try await pull("\(gone)/m.gguf") }.contains("request to 127.0.0.1 failed"))
        #expect(names.isEmpty)
    }

    // MARK: Hugging Face

    @Test func `the token goes to the hub and to no host that it leads to`() async throws {
        let store = FileHost(model, at: "/blob")
        let hub = FileHost(.init())
        try await store.run { storeURL in
            try await hub.run { hubURL in
                let path = "/owner/repo/resolve/refs/pr/1/m.gguf"
                hub.files.withLock { $0.redirects[path] = ("\(storeURL)/blob", "\"\(digest(model))\"") }
                let said = try await pull("hf:owner/repo/m.gguf@refs/pr/1", token: "secret", hub: hubURL)
                #expect(said.contains("SHA-256 verified"))
                #expect(contents("m.gguf") == model)
                #expect(hub.last?.target == "/owner/repo/resolve/refs%2Fpr%2F1/m.gguf")
                #expect(hub.last?.headers["Authorization"] == "Bearer secret")
                #expect(store.requests.withLock { $0.count } == 1)
                #expect(store.last?.headers["Authorization"] == nil)

                _ = try removeModel("m", in: directory.url)
                let wrong = String(repeating: "a", count: 64)
                hub.files.withLock { $0.redirects[path] = ("\(storeURL)/blob", wrong) }
                let message = await failure { try await pull("hf:owner/repo/m.gguf@refs/pr/1", hub: hubURL) }
                #expect(message.contains(wrong))
                #expect(names.isEmpty)
            }
        }
    }

    @Test(arguments: ["http://example.org/m.gguf", "file:///etc/passwd", "ftp://127.0.0.1/m"])
    func `a redirect to where nothing is safe is not followed`(_ location: String) async throws {
        let host = FileHost(.init(redirects: ["/m.gguf": (location, nil)]))
        try await host.run { url in
            #expect(await failure { try await pull("\(url)/m.gguf") }.contains("not followed"))
            #expect(names.isEmpty)
        }
    }

    @Test func `redirects have an end, and may be relative`() async throws {
        let host = FileHost(
            .init(contents: ["/b/m": model], redirects: ["/a/m.gguf": ("../b/m", nil), "/x.gguf": ("/x.gguf", nil)]))
        try await host.run { url in
            try await pull("\(url)/a/m.gguf")
            #expect(contents("m.gguf") == model)
            #expect(await failure { try await pull("\(url)/x.gguf") }.contains("redirects"))
        }
    }

    @Test func `from HTTPS no way leads back to plain HTTP`() throws {
        let secure = try #require(URL(string: "https://127.0.0.1/m.gguf"))
        let plain = try #require(URL(string: "http://127.0.0.1/m.gguf"))
        #expect(plain.isFetchable() && plain.isFetchable(from: plain) && !plain.isFetchable(from: secure))
        #expect(secure.isFetchable(from: plain))
    }

    // MARK: Several parts

    @Test func `all parts of a split model come, and it is none before the last`() async throws {
        let parts = (1...2).map { "big-0000\($0)-of-00002.gguf" }
        let host = FileHost(model, at: "/\(parts[0])")
        try await host.run { url in
            #expect(await failure { try await pull("\(url)/\(parts[1])") }.contains("404"))
            #expect(names == [parts[0] + ".part", parts[0] + ".part.etag"])
            host.files.withLock { $0.contents["/\(parts[1])"] = model }
            try await pull("\(url)/\(parts[1])")
            #expect(names == parts)
        }
    }

    // MARK: Folders of safetensors

    /// Pulls a folder from a hub.
    ///
    /// - Returns: What was said, and the paths that were requested.
    private func pullFolder(config: String? = nil) async throws -> (said: [String], asked: [String]) {
        let source = try TemporaryDirectory()
        let folder = try TinyModel().writeFolder(in: source, architecture: "LlamaForCausalLM")
        var contents: [String: [UInt8]] = [:]
        for name in ["config.json", "model.safetensors"] {
            contents["/ann/M/resolve/main/\(name)"] = Array(try Data(contentsOf: folder.appending(path: name)))
        }
        if let config { contents["/ann/M/resolve/main/config.json"] = Array(config.utf8) }
        let entries = contents.map { path, bytes in
            #"{"type": "file", "path": "\#(path.split(separator: "/").last ?? "")", "size": \#(bytes.count)}"#
        }
        let list = #"[\#(entries.joined(separator: ",")), {"type": "file", "path": "pytorch_model.bin", "size": 7}]"#
        contents["/api/models/ann/M/tree/main"] = Array(list.utf8)
        let host = FileHost(.init(contents: contents))
        var said: [String] = []
        try await host.run { url in
            let repository = try #require(try HubRepository("hf:ann/M", hub: url))
            let entries = try await repository.entries(token: nil)
            #expect(HubRepository.quantizations(in: entries).isEmpty)
            let files = try #require(HubRepository.folder(in: entries))
            try await FolderPull(repository: repository, files: files, directory: directory.url).run(
                PullObserver(say: { said.append($0) }))
        }
        return (said, host.requests.withLock { $0.map(\.path) })
    }

    @Test func `a folder of safetensors is pulled, and is a model once all of it is there`() async throws {
        let (said, asked) = try await pullFolder()
        #expect(asked.suffix(2) == ["/ann/M/resolve/main/config.json", "/ann/M/resolve/main/model.safetensors"])
        #expect(said.count == 2 && said[0].contains("are free") && said[1].contains("llama, F32"))
        #expect(ModelFolder.models(in: directory.url).map(\.lastPathComponent) == ["M"])
        #expect(try await pullFolder().said.first?.contains("already in") == true)
        #expect(names == ["M"])
        #expect(try removeModel("M", in: directory.url) == ["M"])
    }

    @Test func `a folder of an unsupported class is refused before its weights are downloaded`() async throws {
        let error = await #expect(throws: PullError.self) {
            try await pullFolder(config: #"{"architectures": ["NoSuchModel"]}"#)
        }
        #expect(try #require(error).description.contains("'NoSuchModel'"))
        #expect(names.isEmpty)
    }
}
