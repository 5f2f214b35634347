import Cryptography
import Foundation
import KernelFormats
import Synchronization
import TestSupport
import Testing

@testable import Compute
@testable import Engine
@testable import LocalLLM

/// The files of kept prompts: what is read is what was written, or nothing.
@Suite struct PrefixStoreTests {
    private let directory: TemporaryDirectory
    private let sizes = [128, 4096]

    init() throws { directory = try TemporaryDirectory() }

    private var path: String { directory.url.appendingPathComponent("kept").path }

    private func store(limit: Int = 1 << 20, report: @escaping @Sendable (String) -> Void = { _ in }) -> PrefixStore {
        PrefixStore(directory: path, model: SHA256.digest(of: [1]), name: "a model", limit: limit, report: report)
    }

    private func key(_ number: Int32) -> PrefixKey {
        PrefixKey(model: [1], adapters: [], salt: nil).next([number])!
    }

    private func write(_ byte: UInt8, _ key: PrefixKey, to store: PrefixStore) -> Bool {
        let parts = sizes.map { Array(repeating: byte, count: $0) }
        return parts[0].withUnsafeBytes { first in
            parts[1].withUnsafeBytes { second in store.write(key, .page, [first, second]) }
        }
    }

    private func files() -> [PrefixStore.File] { PrefixStore.models(in: path).flatMap(PrefixStore.files) }

    @Test func `what was written is read by another process, and only under its key`() throws {
        #expect(write(7, key(1), to: store()))
        let other = store()
        let found = try #require(other.read(key(1), .page, sizes: sizes))
        #expect(found.map { $0.base.load(as: UInt8.self) } == [7, 7])
        #expect(other.read(key(1), .checkpoint, sizes: sizes) == nil)
        #expect(other.read(key(2), .page, sizes: sizes) == nil)
    }

    @Test func `only the user may read the files`() throws {
        #expect(write(7, key(1), to: store()))
        func permissions(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try permissions(path) == 0o700)
        let folder = try #require(PrefixStore.models(in: path).first)
        #expect(try permissions(folder) == 0o700)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            #expect(try permissions("\(folder)/\(name)") == 0o600)
        }
    }

    @Test(arguments: ["torn", "altered", "longer", "foreign", "empty"])
    func `a file that is not as it was written is removed, and can be written again`(_ damage: String) throws {
        let store = store()
        #expect(write(7, key(1), to: store) && write(8, key(2), to: store))
        let all = files().map(\.path)
        for (path, other) in zip(all, all.reversed()) where damage == "foreign" {
            try FileManager.default.copyItem(atPath: other, toPath: path + ".new")
        }
        for path in all {
            let url = URL(fileURLWithPath: path)
            var data = try Data(contentsOf: url)
            switch damage {
            case "torn": data = data.dropLast(100)
            case "altered": data[data.endIndex - 50] ^= 1
            case "longer": data += [0]
            case "empty": data = Data()
            default: data = try Data(contentsOf: URL(fileURLWithPath: path + ".new"))
            }
            try data.write(to: url)
        }
        for number in [Int32(1), 2] {
            #expect(store.read(key(number), .page, sizes: sizes) == nil)
            #expect(!store.has(key(number), .page))
        }
        #expect(write(7, key(1), to: store))
        #expect(store.read(key(1), .page, sizes: sizes) != nil)
    }

    @Test func `what was not used for longest makes room`() throws {
        let store = store(limit: 64 << 10)
        let now = Date.now.timeIntervalSince1970
        for number in 0..<40 {
            #expect(write(1, key(Int32(number)), to: store))
            // A second apart, as files count whole ones. The first is used again and again.
            for file in files() where Int(now - file.lastUse.timeIntervalSince1970) < 5 {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: now - 1000 + Double(number))],
                    ofItemAtPath: file.path)
            }
            store.touch([key(0)])
        }
        #expect(files().reduce(0) { $0 + $1.bytes } <= 64 << 10)
        #expect(store.has(key(0), .page) && store.has(key(39), .page) && !store.has(key(1), .page))
    }

    @Test func `a folder that cannot be written is named once`() throws {
        try Data().write(to: URL(fileURLWithPath: path))
        let reports = Mutex<[String]>([])
        let store = store { text in reports.withLock { $0.append(text) } }
        for number in 0..<5 { #expect(!write(1, key(Int32(number)), to: store)) }
        #expect(reports.withLock { $0.contains { $0.contains(path) } && $0.count <= 2 })
    }

    @Test func `keys differ by all that a page depends on`() {
        let base = PrefixKey(model: [1], adapters: [2], salt: nil)
        let others = [
            PrefixKey(model: [3], adapters: [2], salt: nil), PrefixKey(model: [1], adapters: [3], salt: nil),
            PrefixKey(model: [1], adapters: [2], salt: ""), PrefixKey(model: [1], adapters: [2], salt: "a"),
            base.next([1, 2])!, base.next([2, 1])!, base.next([1])!.next([2])!,
        ]
        #expect(Set(others + [base]).count == others.count + 1)
    }

    /// IDs of image rows are counted anew by each process.
    @Test func `images count by what they show and where, not by their IDs`() {
        func image(_ value: Float, columns: Int = 2) -> MediaRows {
            let buffer = AlignedBuffer(floats: 64)
            buffer.floats.update(repeating: value, count: 64)
            return MediaRows(
                columns: columns, rows: 4 / columns, matrix: buffer.matrix(rows: 4, columns: 16), in: buffer)
        }
        func key(_ first: Int32, _ image: MediaRows?, at start: Int = 2) -> PrefixKey? {
            var tokens: [Int32] = [5, 6, 7, 8, 9, 10, 11, 12]
            for row in 0..<4 { tokens[start + row] = -(first + Int32(row)) }
            let images = image.map {
                SequenceMedia([.init(tokens: start..<start + 4, rows: $0)], sight: .causal, hasGridPositions: false)
            }
            return PrefixKey(model: [1], adapters: [], salt: nil).next(tokens[...], images)
        }
        #expect(key(1, image(1)) == key(700, image(1)) && key(1, image(1)) != nil)
        #expect(key(1, image(1)) != key(1, image(2)))
        #expect(key(1, image(1)) != key(1, image(1, columns: 4)))
        #expect(key(1, image(1)) != key(1, image(1), at: 3))
        #expect(key(1, nil) == nil)
    }

    // MARK: With a model

    private func load(_ format: KVCacheFormat = .f16, threads: Int = 1, kept: Bool = true) async throws -> LocalModel {
        var description = TinyModel()
        description.context = 1024
        var configuration = LocalModel.Configuration(threads: threads, cacheFormat: format)
        if kept { configuration.cacheDirectory = URL(fileURLWithPath: path) }
        return try await LocalModel.load(from: try description.write(in: directory), configuration: configuration)
    }

    private func answer(
        _ model: LocalModel, _ prompt: [Int32], salt: String? = nil
    ) async throws -> (tokens: [Int32], cached: Int) {
        var options = SamplingOptions(temperature: 0, maximumTokens: 8, topLogprobs: 1)
        options.cacheSalt = salt
        var (tokens, cached): ([Int32], Int) = ([], 0)
        for try await piece in model.generate(tokens: prompt, options: options) {
            tokens += piece.tokens
            if let usage = piece.finish?.usage { cached = usage.cachedTokens }
        }
        return (tokens, cached)
    }

    private func waitForFiles(_ count: Int) async throws {
        for _ in 0..<6000 where files().count < count { try await Task.sleep(for: .milliseconds(10)) }
        #expect(files().count >= count)
    }

    private let prompt = (0..<400).map { Int32($0 * 37 % 200 + 3) }

    @Test(arguments: KVCacheFormat.allCases)
    func `after a restart a prompt goes on where the last process was, with the same text`(
        _ format: KVCacheFormat
    ) async throws {
        let plain = try await answer(try await load(format, kept: false), prompt)
        #expect(try await answer(try await load(format), prompt).cached == 0)
        try await waitForFiles(prompt.count / pageTokens)
        let again = try await answer(try await load(format, threads: 2), prompt)
        #expect(again.cached == (prompt.count - 1) / pageTokens * pageTokens)
        #expect(again.tokens == plain.tokens)
        // Another salt, and another prompt with the same end, find nothing.
        let other = try await load(format)
        #expect(try await answer(other, prompt, salt: "b").cached == 0)
        #expect(try await answer(other, [5] + prompt).cached == 0)
    }

    @Test func `damaged files cost their own computation only`() async throws {
        let plain = try await answer(try await load(), prompt)
        try await waitForFiles(prompt.count / pageTokens)
        for (index, file) in files().enumerated() where index % 3 == 0 {
            var data = try Data(contentsOf: URL(fileURLWithPath: file.path))
            data[data.endIndex - 7] ^= 4
            try data.write(to: URL(fileURLWithPath: file.path))
        }
        let again = try await answer(try await load(), prompt)
        #expect(again.tokens == plain.tokens && again.cached < prompt.count / pageTokens * pageTokens)
    }

    @Test func `kept prompts are listed by model, and cleared`() async throws {
        _ = try await answer(try await load(), prompt)
        try await waitForFiles(prompt.count / pageTokens)
        let kept = KeptPrompts.models(in: URL(fileURLWithPath: path))
        #expect(kept.count == 1 && kept[0].bytes > 0 && !kept[0].name.isEmpty)
        #expect(try kept[0].clear(before: .now.addingTimeInterval(-3600)) == 0)
        #expect(try kept[0].clear(before: .distantFuture) == kept[0].bytes)
        #expect(KeptPrompts.models(in: URL(fileURLWithPath: path)).isEmpty)
    }
}
