import Foundation
import TestSupport
import Testing
import Tiers

@testable import Compute
@testable import LocalLLM

/// Keys and values in 8 and 4 bits: how much memory they take, and what they do to the logits.
@Suite struct CacheFormatTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private let tokens: [Int32] = (0..<75).map { Int32(($0 * 37 + 11) % 259) }

    private func logits(
        _ model: TinyModel, _ format: KVCacheFormat, tier: KernelTier? = nil, chunk: Int
    ) async throws -> [Float] {
        let loaded = try await LocalModel.load(
            from: try model.write(in: directory),
            configuration: .init(threads: 2, tier: tier, cacheFormat: format))
        #expect(loaded.cacheFormat == format)
        return try await loaded.logits(of: tokens, chunk: chunk)
    }

    /// Rounding to a step of max/127 is an error of some (2/127)² / 12 · max²/mean² = 1e-4 of keys and values; their part of
    /// the residual stream is smaller. Without scales, or with those of another group, it would be more than 1e-2. The
    /// levels of four bits have an error of 6e-3; other levels, or no rotation of one side, would give more than 0.1.
    private static func tolerance(_ format: KVCacheFormat) -> Double { format == .q4 ? 3e-2 : 1e-3 }

    private static let formats = [KVCacheFormat.q8_0, .q4]

    private static let caches = KernelTier.available.flatMap { tier in formats.map { (tier, $0) } }

    @Test(arguments: caches, [75, 31, 1])
    func `logits are close to the network's, and not those with halves`(
        _ cache: (tier: KernelTier, format: KVCacheFormat), chunk: Int
    ) async throws {
        let (tier, format) = cache
        let model = TinyModel()
        let naive = NaiveNetwork(model, turnsAdjacent: true).logits(tokens)
        let coded = try await logits(model, format, tier: tier, chunk: chunk)
        let halves = try await logits(model, .f16, tier: tier, chunk: chunk)
        let error = normalizedMeanSquaredError(coded, naive)
        #expect(error < Self.tolerance(format))
        // Otherwise these are halves after all.
        #expect(error > 10 * normalizedMeanSquaredError(halves, naive))
    }

    @Test(arguments: [10, 40, 64], formats)
    func `heads that are no multiple of a register or of a group`(headWidth: Int, format: KVCacheFormat) async throws {
        var model = TinyModel()
        model.heads = 3
        model.kvHeads = 1
        model.headWidth = headWidth
        let naive = NaiveNetwork(model, turnsAdjacent: true).logits(tokens)
        for chunk in [75, 7] {
            let coded = try await logits(model, format, chunk: chunk)
            #expect(normalizedMeanSquaredError(coded, naive) < Self.tolerance(format))
        }
    }

    @Test(arguments: formats)
    func `a window, and tokens one by one, read the same codes`(format: KVCacheFormat) async throws {
        var model = TinyModel()
        model.slidingWindow = 33
        let naive = NaiveNetwork(model, turnsAdjacent: true).logits(tokens)
        for chunk in [75, 1] {
            let coded = try await logits(model, format, chunk: chunk)
            #expect(normalizedMeanSquaredError(coded, naive) < Self.tolerance(format))
        }
    }

    @Test func `memory: a byte or a nibble a value, and a half for each 32 of a head or what is left of them`() {
        func bytesOfToken(_ keyWidth: Int, _ valueWidth: Int, _ format: KVCacheFormat) -> Int {
            let layer = LayerState.keysAndValues(heads: 2, keyWidth: keyWidth, valueWidth: valueWidth)
            let shape = StateShape([layer, layer, layer], format: format)
            #expect(shape.pageBytes == 3 * 2 * shape.pages(of: 0).headBytes)
            #expect(shape.tokens(in: 5 * shape.pageBytes - 1, limit: 1000) == 4 * 32)
            return shape.pageBytes / 32
        }
        #expect(bytesOfToken(64, 64, .f16) == 6 * 2 * 128)
        #expect(bytesOfToken(64, 64, .q8_0) == 6 * (128 + 4 * 2))  // 53 %
        #expect(bytesOfToken(40, 8, .q8_0) == 6 * (48 + 3 * 2))
        #expect(bytesOfToken(10, 33, .q8_0) == 6 * (43 + 3 * 2))
        #expect(bytesOfToken(64, 64, .q4) == 6 * (64 + 4 * 2))  // 28 %
        #expect(bytesOfToken(40, 8, .q4) == 6 * (24 + 3 * 2))
        #expect(bytesOfToken(10, 33, .q4) == 6 * (5 + 17 + 3 * 2))
    }

    @Test func `the same memory holds more tokens`() async throws {
        let model = TinyModel()
        let file = try model.write(in: directory)
        let costs = try await KVCacheFormat.allCases.asyncMap {
            try await LocalModel.load(from: file, configuration: .init(threads: 1, cacheFormat: $0)).info.costs
        }
        // Two layers of two heads; each has a key and a value of 16, less than a group.
        #expect(costs.map(\.cacheBytesOfToken) == [4 * 32 * 2, 4 * (32 + 2 * 2), 4 * (16 + 2 * 2)])
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
