@testable import Compute
import Foundation
import KernelFormats
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Experts that stay on disk until they are used.
@Suite struct ExpertCacheTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private let tokens: [Int32] = (0..<75).map { Int32(($0 * 37 + 11) % 259) }

    /// Two layers of 16 experts, in a format with a packed layout.
    private static let mixture: TinyModel = {
        var model = TinyModel()
        (model.experts, model.usedExperts, model.isQuantized) = (16, 2, true)
        return model
    }()

    private func load(
        _ url: URL, onDisk: Bool, bytes: Int? = nil, tier: KernelTier? = nil
    ) async throws -> LocalModel {
        var configuration = LocalModel.Configuration(threads: 2, tier: tier)
        configuration.expertsOnDisk = onDisk
        configuration.expertBytes = bytes
        return try await LocalModel.load(from: url, configuration: configuration)
    }

    @Test(arguments: KernelTier.available, [75, 7, 1])
    func `experts on disk give the logits of experts in memory, bit for bit`(
        tier: KernelTier, chunk: Int
    ) async throws {
        let url = try Self.mixture.write(in: directory)
        let all = try await load(url, onDisk: false, tier: tier).logits(of: tokens, chunk: chunk)
        // Room for the experts of one layer: each layer evicts the other's.
        let some = try await load(url, onDisk: true, bytes: 0, tier: tier)
        #expect(try await some.logits(of: tokens, chunk: chunk) == all)
        #expect(try await some.logits(of: tokens, chunk: chunk) == all)
        if tier != .portable { #expect(some.kernels.contains("16 of 32 experts in memory")) }
        let roomy = try await load(url, onDisk: true, bytes: 1 << 30, tier: tier)
        #expect(try await roomy.logits(of: tokens, chunk: chunk) == all)
    }

    /// Layers evict each other's experts, which are read again for each token.
    @Test(.timeLimit(.minutes(5))) func `a file that changes or shrinks fails its own model's requests only`()
        async throws
    {
        let url = try Self.mixture.write(in: directory)
        let other = try await load(try Self.mixture.write(in: directory, as: "other.gguf"), onDisk: true, bytes: 0)
        let file = try GGUFFile(path: url.path)
        let tensors = try (0..<2).map { try #require(file.tensorIfPresent("blk.\($0).ffn_down_exps.weight")) }
        let model = try await load(url, onDisk: true, bytes: 0)
        /// Prompts of different numbers share no beginning, whose pages would be found in the prefix cache.
        func answer(_ model: LocalModel, _ number: Int32) async throws -> [Int32] {
            var answer: [Int32] = []
            let prompt = tokens.map { ($0 + number * 17) % 259 }
            for try await piece in model.generate(tokens: prompt, options: .init(temperature: 0, maximumTokens: 4)) {
                answer += piece.tokens
            }
            return answer
        }
        #expect(try await answer(model, 0) == answer(other, 0))

        // Scales that are no numbers.
        let handle = try FileHandle(forWritingTo: url)
        for tensor in tensors {
            try handle.seek(toOffset: UInt64(tensor.range.lowerBound))
            try handle.write(contentsOf: Data(repeating: 0xff, count: tensor.byteCount))
        }
        await #expect(throws: LocalModelError.self) { try await answer(model, 1) }
        try handle.truncate(atOffset: 4096)
        let error = await #expect(throws: ModelFileError.self) { try await answer(model, 2) }
        #expect(error?.reason == .truncated)
        #expect(try await answer(other, 3).count == 4)
    }

    @Test func `matrices without a packed layout are read from the file`() async throws {
        var model = Self.mixture
        model.isQuantized = false
        let url = try model.write(in: directory)
        let all = try await load(url, onDisk: false).logits(of: tokens)
        #expect(try await load(url, onDisk: true).logits(of: tokens) == all)
    }

    @Test(.enabled(if: !KernelSet.best.packedFormats.isEmpty))
    func `the expert that was not used for the longest time is evicted`() throws {
        let file = try GGUFFile(path: Self.mixture.write(in: directory).path)
        let cache = ExpertCache(formats: KernelSet.best.packedFormats)
        let matrices = try ["blk.0.ffn_up_exps.weight", "blk.1.ffn_up_exps.weight"].map { name in
            let tensor = try #require(file.tensorIfPresent(name))
            return try #require(cache.add(tensor, count: 16))
        }
        let pool = ThreadPool(count: 2)
        defer { pool.stop() }
        #expect(cache.fill(bytes: 0, on: pool) { _ in true })
        #expect(cache.capacity == 16 && cache.count == 32 && cache.reads == 16)
        func resident(_ layer: Int) -> [Int] { (0..<16).filter { matrices[layer][$0].packed != nil } }
        #expect(resident(0) == Array(0..<8) && resident(1) == Array(0..<8))
        let (first, second) = (matrices[0][0].layer, matrices[1][0].layer)

        second.load([3], on: pool)
        first.load([1, 2], on: pool)
        #expect(cache.reads == 16)
        // Experts 0 and 3 of the first layer have waited longest.
        first.load([8, 9], on: pool)
        #expect(cache.reads == 18)
        #expect(resident(0) == [1, 2, 4, 5, 6, 7, 8, 9] && resident(1) == Array(0..<8))
        first.load(Array(0..<16), on: pool)
        #expect(resident(0) == Array(0..<16) && resident(1).isEmpty)
        second.load([3], on: pool)
        #expect(resident(1) == [3] && resident(0).count == 15)
    }

    @Test func `memory is counted with the experts that are kept, and the refusal says what would be enough`() throws {
        let file = try GGUFFile(path: Self.mixture.write(in: directory).path)
        var configuration = LocalModel.Configuration()
        let whole = try MemoryNeeds(file, configuration).estimate(available: 1 << 30)
        configuration.expertsOnDisk = true
        let needs = try MemoryNeeds(file, configuration)
        let roomy = needs.estimate(available: 1 << 30)
        #expect(roomy.weights == whole.weights && roomy.expertsOnDisk == 0)
        let least = try #require(whole.totalWithExpertsOnDisk)
        #expect(least < whole.total)
        let tight = needs.estimate(available: least)
        #expect(tight.fits && tight.total == least)
        #expect(tight.weights + tight.expertsOnDisk == whole.weights)
        #expect(!needs.estimate(available: least - 1).fits)
        let refused = LocalModelError.insufficientMemory(
            try MemoryNeeds(file, .init()).estimate(available: least))
        #expect(refused.description.contains("With --experts-on-disk, "))
    }

    @Test func `a dense model and experts that are computed are refused`() async throws {
        let dense = try TinyModel().write(in: directory, as: "dense.gguf")
        let error = await #expect(throws: LocalModelError.self) { try await load(dense, onDisk: true) }
        #expect(error?.description.contains("not a mixture of experts") == true)

        let folder = try Self.mixture.write(in: directory, as: "m.gguf")
        var configuration = LocalModel.Configuration()
        (configuration.expertsOnDisk, configuration.quantization) = (true, "Q8_0")
        let other = await #expect(throws: LocalModelError.self) {
            try await LocalModel.load(from: folder, configuration: configuration)
        }
        #expect(other?.description.contains("bench convert") == true)
    }

    @Test(.timeLimit(.minutes(1)), .enabled(if: !KernelSet.best.packedFormats.isEmpty))
    func `the time to fill the cache is linear in the number of experts`() throws {
        // Each of 16 rows of one block of Q4_0, 18 bytes.
        let (count, bytes) = (400_000, 400_000 * 16 * 18)
        let file = try MappedFile(path: "experts", byteCount: bytes) { _ in }
        let tensor = TensorView(
            name: "blk.0.ffn_up_exps.weight", type: .Q4_0, shape: [32, 16, count], file: file, range: 0..<bytes)
        let cache = ExpertCache(formats: KernelSet.best.packedFormats)
        let experts = try #require(cache.add(tensor, count: count))
        let pool = ThreadPool(count: 2)
        defer { pool.stop() }
        #expect(cache.fill(bytes: .max, on: pool) { _ in true })
        #expect(cache.capacity == count && cache.reads == count)
        #expect(experts.allSatisfy { $0.packed != nil })
    }
}
