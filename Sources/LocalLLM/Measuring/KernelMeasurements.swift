import KernelFormats
import KernelsPortable

/// The speed of one kernel on one thread, and its error against the portable tier.
package struct KernelMeasurement: Sendable {
    /// Such as `dot Q4_K`.
    package let name: String
    /// Seconds per call, the best of several runs.
    package let seconds: Double
    /// Work per call: values produced, or operations of a product (multiplications and additions count separately).
    package let work: Int
    package let unit: Unit
    /// Σ(a − b)² / Σ b² against the portable tier's result `b`.
    package let error: Double
    /// Upper limit for `error`.
    package let limit: Double

    package enum Unit: String, Sendable { case values, operations }

    package var isRight: Bool { error <= limit }

    package init(name: String, seconds: Double, work: Int, unit: Unit, error: Double, limit: Double) {
        self.name = name
        self.seconds = seconds
        self.work = work
        self.unit = unit
        self.error = error
        self.limit = limit
    }
}

/// Runs a tier's kernels through `Compute`, as a model's step does.
package final class KernelMeter {
    /// For kernels that only add floats in another order.
    private static let floatLimit = 1e-10
    /// For activations that may be quantized to 8 bits: (1/127)² / 12 · 3 = 1.6e-5 if uniform. Omitting one of
    /// `columns` products would give 5e-4.
    private static let productLimit = 1e-4
    private static let rows = 512, columns = 2048, tokens = 96

    private let tested: Compute
    private let reference = Compute(kernels: .portable, threads: 1)
    /// Seconds to run each kernel.
    private let seconds: Double

    package init(tier: KernelTier? = nil, seconds: Double = 0.05) throws(LocalModelError) {
        let configuration = LocalModel.Configuration(threads: 1, tier: tier)
        tested = Compute(kernels: try configuration.kernels(), threads: 1)
        self.seconds = seconds
    }

    package var kernels: String { tested.kernels.description }

    /// Weight formats by ggml's names.
    package static let formats = weightFormats.map(\.name)
    private static let weightFormats = TensorType.allCases.filter { type in
        switch type {
        case .I8, .I16, .I32, .I64, .F64, .Q8_1, .Q8_K: false
        default: true
        }
    }

    /// Measures one format: dequantizing a row, and products with one token, a few tokens, and a prompt.
    package func measure(format: String) throws(LocalModelError) -> [KernelMeasurement] {
        guard let type = Self.weightFormats.first(where: { $0.name == format }) else {
            throw .invalidOption("format: expected one of \(Self.formats.joined(separator: ", ")), found '\(format)'")
        }
        let (plain, packed) = try Self.weights(type, for: tested)
        return [dequantize(plain)]
            + [("dot", 1), ("dot x4", 4), ("product", Self.tokens)].map { name, tokens in
                product("\(name) \(format)", plain, packed, tokens: tokens)
            }
    }

    /// Measures the kernels that do not involve weights.
    package func measureOthers() -> [KernelMeasurement] {
        [norm(), gate()]
            + KVCacheFormat.allCases.flatMap { format in [1, 64].map { attention(tokens: $0, format) } }
    }

    // MARK: Kernels

    private func dequantize(_ weights: WeightMatrix) -> KernelMeasurement {
        measure("dequantize \(weights.type.name)", columns: Self.columns, limit: Self.floatLimit, work: Self.columns) {
            compute, output in
            compute.embed(weights, rows: [1], into: output)
        }
    }

    private func product(
        _ name: String, _ plain: WeightMatrix, _ packed: WeightMatrix, tokens: Int
    ) -> KernelMeasurement {
        let input = Self.random(rows: tokens, columns: Self.columns)
        return measure(
            name, rows: tokens, columns: Self.rows, limit: Self.productLimit,
            work: 2 * tokens * Self.rows * Self.columns, unit: .operations
        ) { compute, output in
            let weights = compute === tested ? packed : plain
            compute.multiply(
                input.matrix(rows: tokens, columns: Self.columns), by: Linear(weights: weights), into: output,
                exact: tokens == Self.tokens ? 0 : .max)
        }
    }

    private func norm() -> KernelMeasurement {
        let input = Self.random(rows: 1, columns: Self.columns)
        let weight = (0..<Self.columns).map { 1 + Float($0 % 7) / 10 }
        return measure("rmsNorm", columns: Self.columns, limit: Self.floatLimit, work: Self.columns) {
            $0.normalize(
                input.matrix(rows: 1, columns: Self.columns), Norm(.rms, weight: weight, epsilon: 1e-5), into: $1)
        }
    }

    private func gate() -> KernelMeasurement {
        let (gate, up) = (Self.random(rows: 1, columns: Self.columns), Self.random(rows: 1, columns: Self.columns))
        return measure("swiGLU", columns: Self.columns, limit: Self.floatLimit, work: Self.columns) {
            $0.activate(
                gate.matrix(rows: 1, columns: Self.columns), up.matrix(rows: 1, columns: Self.columns), .silu,
                into: $1)
        }
    }

    private func attention(tokens: Int, _ format: KVCacheFormat) -> KernelMeasurement {
        let (heads, depth) = (16, 1024)
        let shape = AttentionShape(heads: heads, scale: 1, window: nil)
        let state = SequenceState(
            StateShape([.keysAndValues(heads: 4, keyWidth: 64, valueWidth: 64)], format: format))
        _ = remember(depth, in: state)
        let step = remember(tokens, in: state)
        let queries = Self.random(rows: tokens, columns: heads * 64)
        // Attention scales them in place, and rotates them for q4.
        let copy = AlignedBuffer(floats: tokens * heads * 64)
        // Each token attends to those before it: one product with keys, one with values.
        let seen = tokens * depth + tokens * (tokens + 1) / 2
        return measure(
            "attention of \(tokens) after \(depth), \(format)", rows: tokens, columns: heads * 64,
            limit: Self.floatLimit, work: 4 * 64 * heads * seen,
            unit: .operations
        ) {
            copy.floats.update(from: queries.floats, count: tokens * heads * 64)
            $0.attention(copy.matrix(rows: tokens, columns: heads * 64), of: step, layer: 0, shape, into: $1)
        }
    }

    /// Appends random keys and values to the sequence.
    private func remember(_ tokens: Int, in state: SequenceState) -> Step {
        let cached = state.shape.pages(of: 0)
        let width = cached.heads * cached.keyWidth
        var step = Step()
        step.append(ArraySlice(repeating: 0, count: tokens), to: state, output: .none)
        let buffer = Self.random(rows: tokens, columns: width)
        withExtendedLifetime(buffer) {
            let matrix = buffer.matrix(rows: tokens, columns: width)
            reference.store(matrix, matrix, of: step, layer: 0)
        }
        return step
    }

    // MARK: Measuring

    private func measure(
        _ name: String, rows: Int = 1, columns: Int, limit: Double, work: Int, unit: KernelMeasurement.Unit = .values,
        _ kernel: (Compute, Matrix) -> Void
    ) -> KernelMeasurement {
        let (found, expected) = (AlignedBuffer(floats: rows * columns), AlignedBuffer(floats: rows * columns))
        kernel(reference, expected.matrix(rows: rows, columns: columns))
        let output = found.matrix(rows: rows, columns: columns)
        kernel(tested, output)
        let error = Self.error(found.floats, expected.floats, count: rows * columns)
        let clock = ContinuousClock()
        var (best, spent, calls) = (Double.infinity, 0.0, 1)
        withExtendedLifetime(found) {
            repeat {
                let time = clock.measure { for _ in 0..<calls { kernel(tested, output) } } / .seconds(1)
                spent += time
                best = min(best, time / Double(calls))
                if time < 1e-4 { calls *= 4 }  // shorter runs would measure the clock
            } while spent < seconds
        }
        return KernelMeasurement(name: name, seconds: best, work: work, unit: unit, error: error, limit: limit)
    }

    private static func error(_ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, count: Int) -> Double {
        var (difference, power) = (0.0, 0.0)
        for i in 0..<count {
            difference += (Double(a[i]) - Double(b[i])) * (Double(a[i]) - Double(b[i]))
            power += Double(b[i]) * Double(b[i])
        }
        return difference == 0 ? 0 : difference / power
    }
}

// MARK: Random data

extension KernelMeter {
    /// Uniform in -1..<1, the same in each run.
    private static func random(rows: Int, columns: Int) -> AlignedBuffer {
        var generator = SplitMix64(seed: UInt64(rows * columns))
        let buffer = AlignedBuffer(floats: rows * columns)
        for index in 0..<rows * columns { buffer.floats[index] = Float.random(in: -1..<1, using: &generator) }
        return buffer
    }

    /// A random matrix in the file's format and in the tier's packed layout.
    private static func weights(
        _ type: TensorType, for compute: Compute
    ) throws(LocalModelError) -> (plain: WeightMatrix, packed: WeightMatrix) {
        let contents = bytes(of: type)
        guard let file = try? MappedFile(path: type.name, contents: contents) else {
            throw .invalidOption("Not enough memory for \(contents.count) bytes of weights.")
        }
        let tensor = TensorView(
            name: type.name, type: type, shape: [columns, rows], file: file, range: 0..<contents.count)
        let packer = WeightPacker(
            pool: compute.pool, kernels: compute.kernels, progress: { _, _ in true }, refuse: { _ in })
        return (WeightMatrix(tensor), WeightMatrix(tensor, packed: packer.pack(tensor)))
    }

    /// Random blocks with values of moderate size, which random bits in exponents would not give.
    private static func bytes(of type: TensorType) -> [UInt8] {
        var generator = SplitMix64(seed: UInt64(type.rawValue) + 1)
        if type == .F32 {
            return (0..<rows * columns).flatMap { _ in
                withUnsafeBytes(of: Float.random(in: -1..<1, using: &generator).bitPattern.littleEndian) { Array($0) }
            }
        }
        var blocks: [[UInt8]] = []
        var values = [Float](repeating: 0, count: type.blockValues)
        while blocks.count < 64 {
            let block = (0..<type.blockBytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
            KernelsPortable.dequantize(type, block, into: &values, count: type.blockValues)
            let largest = values.reduce(0) { $1.isFinite ? max($0, abs($1)) : .infinity }
            if (0.125...8).contains(largest) { blocks.append(block) }
        }
        return (0..<rows * columns / type.blockValues).flatMap { _ in blocks.randomElement(using: &generator)! }
    }
}
