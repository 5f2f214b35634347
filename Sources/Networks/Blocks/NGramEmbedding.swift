import GGUF
import Compute

/// Adds embeddings of the last few tokens to all residual streams (Qwen 4): rows of a large table, selected by hashes
/// of n-grams.
///
///     k, v = key·e, value·e        gᵢ = σ(±√|norm(k)ᵢ·norm(xᵢ)/√width|)        yᵢ = gᵢ·v        xᵢ += yᵢ + silu(convolution(norm(y)))ᵢ
///
/// The convolution is dilated by the longest n-gram. State, behind the mixer's: the last inputs of the convolution,
/// `[steps][streams · width]`, oldest first, then the last token IDs plus 1, latest first; 0: no token.
final class NGramEmbedding: ResidualConnection {
    /// Hashes of n-grams of one length, one per head.
    private struct Hash {
        let offset: UInt64
        let count: UInt64
        /// Tokens per n-gram.
        let length: Int
    }

    private let next: any ResidualConnection
    private let stateOffset: Int
    private let width: Int
    private let table: WeightMatrix
    private let hashes: [Hash]
    /// Factors on the tokens of an n-gram, latest first.
    private let multipliers: [UInt64]
    /// End-of-text token: n-grams do not extend across it.
    private let end: Int32
    private let key: Linear
    private let value: Linear
    private let keyNorm: Norm
    private let queryNorm: Norm
    private let inputNorm: Norm
    private let convolution: DilatedConvolution

    /// - Parameters:
    ///   - next: Connection through which the block reads and writes.
    ///   - stateOffset: Offset of its floats in the layer's state.
    init(
        _ layer: LayerBuilder, before next: any ResidualConnection, stateOffset: Int
    ) throws(ModelFileError) {
        let (model, file, hyper, name) = (layer.model, layer.file, layer.hyper, layer.name)
        self.next = next
        self.stateOffset = stateOffset
        width = model.width
        let streams = try HyperConnection.streams(model)
        let size = streams * width
        let (length, kernel) = try Self.sizes(layer)
        let heads = try hyper.count("ple.heads_per_ngram")
        let total = heads * (length - 1)
        guard heads <= 1 << 10, total * (try hyper.count("embedding_length_per_layer_input")) == width else {
            throw hyper.invalid(
                "embedding_length_per_layer_input",
                "\(width / total), the width \(width) divided by the \(total) hashes",
                found: try hyper.int("embedding_length_per_layer_input") ?? 0)
        }
        table = try file.matrix("per_layer_token_embd.weight", columns: width / total)
        func numbers(_ key: String, _ count: Int) throws(ModelFileError) -> [UInt64] {
            let values = try file.metadata.intsIfPresent("\(hyper.architecture).ple.\(key)") ?? []
            guard values.count >= count, values.allSatisfy({ $0 >= 0 }) else {
                throw hyper.invalid("ple.\(key)", "\(count) numbers, each at least 0", found: values)
            }
            return values.prefix(count).map { UInt64($0) }
        }
        multipliers = try numbers("layer_multipliers", length)
        let (offsets, counts) = (try numbers("head_offsets", total), try numbers("head_vocab_sizes", total))
        var hashes: [Hash] = []
        for index in 0..<total {
            let (sum, overflow) = offsets[index].addingReportingOverflow(counts[index])
            guard counts[index] > 0, !overflow, sum <= UInt64(table.rows) else {
                throw hyper.invalid(
                    "ple.head_vocab_sizes", "ranges of the \(table.rows) rows of per_layer_token_embd.weight",
                    found: counts[index])
            }
            hashes.append(Hash(offset: offsets[index], count: counts[index], length: index / heads + 2))
        }
        self.hashes = hashes
        end = Int32(clamping: try file.metadata.int("\(hyper.architecture).ple.eos_token_id"))
        key = try layer.linear("ple_key", from: width, to: size)
        value = try layer.linear("ple_value", from: width, to: width)
        keyNorm = try GatedStreams.norm(model, name + "ple_norm_key.weight", streams)
        queryNorm = try GatedStreams.norm(model, name + "ple_norm_query.weight", streams)
        inputNorm = try GatedStreams.norm(model, name + "ple_norm_conv.weight", streams)
        let weights = try file.floats(name + "ple_conv1d.weight", dimensions: [kernel, size])
        convolution = DilatedConvolution(
            channels: size, dilation: length,
            taps: (0..<kernel).map { tap in (0..<size).map { weights[$0 * kernel + tap] } })
    }

    /// Length of the longest n-gram, and number of taps of the convolution.
    private static func sizes(_ layer: LayerBuilder) throws(ModelFileError) -> (length: Int, kernel: Int) {
        let (length, kernel) = (
            try layer.hyper.count("ple.ngram_size"), try layer.hyper.count("ple.conv_kernel")
        )
        guard (2...16).contains(length) else { throw layer.hyper.invalid("ple.ngram_size", "2...16", found: length) }
        guard kernel <= 64 else { throw layer.hyper.invalid("ple.conv_kernel", "1...64", found: kernel) }
        return (length, kernel)
    }

    /// Floats of its state in the layer.
    static func stateFloats(_ layer: LayerBuilder) throws(ModelFileError) -> Int {
        let (length, kernel) = try sizes(layer)
        return (kernel - 1) * length * (try HyperConnection.streams(layer.model)) * layer.width + length - 1
    }

    func read(_ residual: Matrix, into input: Matrix, _ context: LayerContext) {
        let (compute, work, rows) = (context.compute, context.work, residual.rows)
        let embedded = work[.gathered, rows, width]
        let ids = context.runs.flatMap { tableRows(of: $0, context.step) }
        compute.embed(table, rows: ids, into: embedded.reshaped(rows: ids.count, columns: table.columns))
        let keys = work[.projected, rows, residual.columns], values = work[.mixed, rows, width]
        compute.multiply {
            $0.add(embedded, by: key, into: keys)
            $0.add(embedded, by: value, into: values)
        }
        compute.normalize(keys, keyNorm, into: keys)
        let gated = work[.convolved, rows, residual.columns]
        compute.normalize(residual, queryNorm, into: gated)
        compute.gateStreams(gated, by: keys, values)
        compute.normalize(gated, inputNorm, into: keys)
        for run in context.runs {
            convolution.forward(keys, adding: gated, to: residual, run, stateOffset: stateOffset, compute)
        }
        next.read(residual, into: input, context)
    }

    func write(_ output: Matrix, to residual: Matrix, _ context: LayerContext) {
        next.write(output, to: residual, context)
    }

    /// The table rows of the n-grams of a run's tokens, one per hash. Stores the last tokens in the state.
    private func tableRows(of run: RecurrentRun, _ step: Step) -> [Int] {
        let offset = stateOffset + convolution.stateFloats
        var tokens = run.tokens(count: multipliers.count - 1, stateOffset: offset)
        var ids: [Int] = []
        for row in run.rows {
            tokens.insert(step.tokens[row], at: 0)
            var counts = true
            let gram = tokens.enumerated().map { place, token -> UInt64 in
                if place > 0 { counts = counts && token >= 0 && token != end }
                return UInt64(UInt32(bitPattern: counts ? token : end))
            }
            for hash in hashes {
                var mixed: UInt64 = 0
                for place in 0..<hash.length { mixed ^= gram[place] &* multipliers[place] }
                ids.append(Int(mixed % hash.count + hash.offset))
            }
            tokens.removeLast()
        }
        run.remember(tokens: tokens, stateOffset: offset)
        return ids
    }
}
