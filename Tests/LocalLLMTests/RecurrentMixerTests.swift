@testable import Networks
import Foundation
import TestSupport
import Testing
import Tiers

@testable import LocalLLM

/// Each recurrent mixer against its definition, in steps of several sizes.
@Suite struct RecurrentMixerTests {
    private typealias Naive = NaiveLayer
    private let directory: TemporaryDirectory
    private let compute = Compute(kernels: .best, threads: 2)
    private static let tokens = 40

    init() throws { directory = try TemporaryDirectory() }

    private func inputs(_ width: Int) -> [[Double]] {
        var generator = SeededGenerator(seed: 0x1a9e)
        return (0..<Self.tokens).map { _ in
            (0..<width).map { _ in Double(Float.random(in: -1...1, using: &generator)) }
        }
    }

    /// Compares a block with its definition, which gives a token's output, and keeps its own state.
    private func check(
        _ layer: Naive, _ family: Family, _ make: (LayerBuilder) throws -> any AnyObject, state: LayerState? = nil,
        _ define: ([[Double]], Int) -> [Double]
    ) throws {
        let path = try directory.write(layer.file().bytes(), as: "layer.gguf")
        let builder = try DecoderBuilder(ModelReader(GGUFFile(path: path)), architecture: layer.architecture, family)
        let block = try make(LayerBuilder(builder, 0))
        let rows = inputs(layer.width)
        let expected = rows.indices.flatMap { define(rows, $0) }.map { Float($0) }
        for sizes in [[40], [1], [7], [16, 24], [33, 7]] {
            let states = StateShape([state ?? (block as! any Mixer).state])
            let (sequence, work) = (SequenceState(states), Workspace())
            var found: [Float] = []
            var (first, index) = (0, 0)
            while first < rows.count {
                let count = min(sizes[min(index, sizes.count - 1)], rows.count - first)
                found += forward(block, Array(rows[first..<first + count]), sequence, work)
                first += count
                index += 1
            }
            let error = normalizedMeanSquaredError(found, expected)
            #expect(error < 1e-11, "steps of \(sizes)")
        }
    }

    private func forward(
        _ block: any AnyObject, _ rows: [[Double]], _ sequence: SequenceState, _ work: Workspace
    ) -> [Float] {
        var step = Step()
        step.append(Array(repeating: 0, count: rows.count)[...], to: sequence, output: .none)
        let width = rows[0].count
        let memory = (AlignedBuffer(floats: rows.count * width), AlignedBuffer(floats: rows.count * width))
        let (input, output) = (
            memory.0.matrix(rows: rows.count, columns: width), memory.1.matrix(rows: rows.count, columns: width)
        )
        for (row, values) in rows.enumerated() {
            for (column, value) in values.enumerated() { input[row][column] = Float(value) }
        }
        let context = LayerContext(step: step, layer: 0, layerCount: 1, work: work, compute: compute, angles: [])
        if let mixer = block as? any Mixer { mixer.forward(input, into: output, context) }
        if let block = block as? any FeedForward { block.forward(input, into: output, context) }
        return Array(UnsafeBufferPointer(start: output.base, count: rows.count * width))
    }

    @Test(arguments: [false, true]) func `Mamba, with and without norms`(hasNorms: Bool) throws {
        let (width, inner, states, rank) = (16, 40, 6, 3)
        var layer = Naive(architecture: "mamba", width: width)
        for (key, value) in [
            ("conv_kernel", 4), ("inner_size", inner), ("state_size", states), ("time_step_rank", rank),
        ] {
            layer.key("ssm." + key, value)
        }
        layer.matrix("ssm_in.weight", from: width, to: 2 * inner)
        layer.matrix("ssm_x.weight", from: inner, to: rank + 2 * states)
        layer.matrix("ssm_dt.weight", from: rank, to: inner)
        layer.vector("ssm_dt.bias", [inner])
        layer.matrix("ssm_out.weight", from: inner, to: width)
        layer.vector("ssm_conv1d.weight", [4, inner])
        layer.vector("ssm_conv1d.bias", [inner])
        layer.vector("ssm_a", [states, inner], -4 ... -0.1)
        layer.vector("ssm_d", [inner])
        if hasNorms {
            for (name, count) in [("dt", rank), ("b", states), ("c", states)] {
                layer.vector("ssm_\(name)_norm.weight", [count], 0.5...1.5)
            }
        }
        let (a, d) = (layer.values("ssm_a"), layer.values("ssm_d"))
        var h = Array(repeating: Array(repeating: 0.0, count: states), count: inner)
        try check(layer, .mamba, { try Mamba($0) }) { rows, t in
            let projected = rows.map { layer.linear("ssm_in", $0) }
            let x = layer.convolve(
                "ssm_conv1d.weight", projected.map { Array($0[..<inner]) }, t, bias: "ssm_conv1d.bias"
            ).map(Naive.silu)
            let selected = layer.linear("ssm_x", x)
            var (step, b, c) = (
                Array(selected[..<rank]), Array(selected[rank..<rank + states]), Array(selected[(rank + states)...])
            )
            if hasNorms {
                step = Naive.rms(step, layer.values("ssm_dt_norm.weight"))
                b = Naive.rms(b, layer.values("ssm_b_norm.weight"))
                c = Naive.rms(c, layer.values("ssm_c_norm.weight"))
            }
            let delta = layer.linear("ssm_dt", step).map(Naive.softplus)
            let y = (0..<inner).map { channel -> Double in
                var sum = d[channel] * x[channel]
                for n in 0..<states {
                    let decay = exp(delta[channel] * a[channel * states + n])
                    h[channel][n] = decay * h[channel][n] + delta[channel] * b[n] * x[channel]
                    sum += c[n] * h[channel][n]
                }
                return sum * Naive.silu(projected[t][inner + channel])
            }
            return layer.linear("ssm_out", y)
        }
    }

    @Test(arguments: [(1, true), (2, true), (2, false)])
    func `Mamba 2, with groups, with and without a norm`(groups: Int, hasNorm: Bool) throws {
        let (width, heads, headWidth, states) = (16, 6, 8, 12)
        let inner = heads * headWidth
        let channels = inner + 2 * groups * states
        var layer = Naive(architecture: "mamba2", width: width)
        for (key, value) in [
            ("conv_kernel", 4), ("inner_size", inner), ("state_size", states), ("time_step_rank", heads),
            ("group_count", groups),
        ] { layer.key("ssm." + key, value) }
        layer.matrix("ssm_in.weight", from: width, to: inner + channels + heads)
        layer.matrix("ssm_out.weight", from: inner, to: width)
        layer.vector("ssm_conv1d.weight", [4, channels])
        layer.vector("ssm_conv1d.bias", [channels])
        layer.vector("ssm_dt.bias", [heads])
        layer.vector("ssm_a", [1, heads], -4 ... -0.1)
        layer.vector("ssm_d", [1, heads])
        if hasNorm { layer.vector("ssm_norm.weight", [inner / groups, groups], 0.5...1.5) }
        let (a, d, bias) = (layer.values("ssm_a"), layer.values("ssm_d"), layer.values("ssm_dt.bias"))
        var state = (0..<heads).map { _ in NaiveHeadState(states, headWidth) }
        try check(layer, .mamba2, { try Mamba2($0) }) { rows, t in
            let projected = rows.map { layer.linear("ssm_in", $0) }
            let x = layer.convolve(
                "ssm_conv1d.weight", projected.map { Array($0[inner..<inner + channels]) }, t, bias: "ssm_conv1d.bias"
            ).map(Naive.silu)
            let shared = Array(x[inner...])
            var y: [Double] = []
            for head in 0..<heads {
                let delta = Naive.softplus(projected[t][inner + channels + head] + bias[head])
                let group = head / (heads / groups)
                let own = x.part(head, headWidth)
                state[head].decay(Array(repeating: exp(delta * a[head]), count: states))
                state[head].add(shared.part(group, states), own.map { $0 * delta })
                y += zip(state[head].read(shared.part(groups + group, states)), own).map { $0 + d[head] * $1 }
            }
            y = y.indices.map { y[$0] * Naive.silu(projected[t][$0]) }
            if hasNorm {
                let weight = layer.values("ssm_norm.weight")
                y = (0..<groups).flatMap { Naive.rms(y.part($0, inner / groups), weight.part($0, inner / groups)) }
            }
            return layer.linear("ssm_out", y)
        }
    }

    @Test(arguments: [2, 3, 5]) func `LFM2's short convolution`(taps: Int) throws {
        let width = 24
        var layer = Naive(architecture: "lfm2", width: width)
        layer.key("shortconv.l_cache", taps)
        layer.matrix("shortconv.in_proj.weight", from: width, to: 3 * width)
        layer.matrix("shortconv.out_proj.weight", from: width, to: width)
        layer.vector("shortconv.conv.weight", [taps, width])
        try check(layer, .lfm2, { try ShortConvolution($0) }) { rows, t in
            let parts = rows.map { layer.linear("shortconv.in_proj", $0) }
            let gated = parts.map { zip($0.part(0, width), $0.part(2, width)).map { $0 * $1 } }
            let convolved = layer.convolve("shortconv.conv.weight", gated, t)
            return layer.linear("shortconv.out_proj", zip(convolved, parts[t].part(1, width)).map { $0 * $1 })
        }
    }

    @Test(arguments: [(false, false), (true, false), (false, true)])
    func `a gated delta net, its projections apart or by group, its groups' heads neighbours or not`(
        interleaves: Bool, isGrouped: Bool
    ) throws {
        let (width, groups, heads, keyWidth, valueWidth) = (16, 2, 6, 8, 16)
        let (shared, inner, members) = (groups * keyWidth, heads * valueWidth, heads / groups)
        let channels = 2 * shared + inner
        var layer = Naive(architecture: "qwen35", width: width)
        for (key, value) in [
            ("conv_kernel", 4), ("inner_size", inner), ("state_size", keyWidth), ("time_step_rank", heads),
            ("group_count", groups),
        ] { layer.key("ssm." + key, value) }
        if isGrouped {
            layer.matrix("ssm_in.weight", from: width, to: channels + inner)
            layer.matrix("ssm_ba.weight", from: width, to: 2 * heads)
        } else {
            layer.matrix("attn_qkv.weight", from: width, to: channels)
            layer.matrix("attn_gate.weight", from: width, to: inner)
            layer.matrix("ssm_beta.weight", from: width, to: heads)
            layer.matrix("ssm_alpha.weight", from: width, to: heads)
        }
        layer.matrix("ssm_out.weight", from: inner, to: width)
        layer.vector("ssm_conv1d.weight", [4, channels])
        layer.vector("ssm_dt.bias", [heads])
        layer.vector("ssm_a", [heads], -4 ... -0.1)
        layer.vector("ssm_norm.weight", [valueWidth], 0.5...1.5)
        let (a, bias, norm) = (layer.values("ssm_a"), layer.values("ssm_dt.bias"), layer.values("ssm_norm.weight"))

        /// Queries, keys and values; gates; β; step sizes.
        func project(_ x: [Double]) -> (qkv: [Double], gate: [Double], beta: [Double], alpha: [Double]) {
            guard isGrouped else {
                return (
                    layer.linear("attn_qkv", x), layer.linear("attn_gate", x), layer.linear("ssm_beta", x),
                    layer.linear("ssm_alpha", x)
                )
            }
            let (all, steps) = (layer.linear("ssm_in", x), layer.linear("ssm_ba", x))
            let value = members * valueWidth
            let parts = (0..<groups).map { all.part($0, 2 * keyWidth + 2 * value) }
            let stepParts = (0..<groups).map { steps.part($0, 2 * members) }
            func take(_ range: Range<Int>) -> [Double] { parts.flatMap { Array($0[range]) } }
            return (
                take(0..<keyWidth) + take(keyWidth..<2 * keyWidth) + take(2 * keyWidth..<2 * keyWidth + value),
                take(2 * keyWidth + value..<2 * keyWidth + 2 * value), stepParts.flatMap { $0.part(0, members) },
                stepParts.flatMap { $0.part(1, members) }
            )
        }
        var state = (0..<heads).map { _ in NaiveHeadState(keyWidth, valueWidth) }
        try check(layer, .qwen35, { try GatedDeltaNet($0, interleavesGroups: interleaves) }) { rows, t in
            let projected = rows.map(project)
            let x = layer.convolve("ssm_conv1d.weight", projected.map(\.qkv), t).map(Naive.silu)
            var y: [Double] = []
            for head in 0..<heads {
                let group = interleaves ? head % groups : head / members
                let query = Naive.unit(x.part(group, keyWidth)).map { $0 / Double(keyWidth).squareRoot() }
                let key = Naive.unit(x.part(groups + group, keyWidth))
                let value = Array(x[(2 * shared)...]).part(head, valueWidth)
                let decay = exp(a[head] * Naive.softplus(projected[t].alpha[head] + bias[head]))
                state[head].decay(Array(repeating: decay, count: keyWidth))
                let beta = Naive.sigmoid(projected[t].beta[head])
                state[head].add(key, zip(value, state[head].read(key)).map { beta * ($0 - $1) })
                y += zip(Naive.rms(state[head].read(query), norm), projected[t].gate.part(head, valueWidth)).map {
                    $0 * Naive.silu($1)
                }
            }
            return layer.linear("ssm_out", y)
        }
    }

    /// How the models with Kimi delta attention differ.
    enum KimiVariant: CaseIterable {
        case linear, k3, ling3

        var style: KimiDeltaAttention.Style {
            switch self {
            case .linear: .init()
            case .k3: .init(isBounded: true)
            case .ling3: .init(isBounded: true, ratesArePositive: true)
            }
        }

        func decay(_ rate: Double, _ x: Double) -> Double {
            switch self {
            case .linear: exp(rate * NaiveLayer.softplus(x))
            case .k3: exp(-5 * NaiveLayer.sigmoid(-rate * x))
            case .ling3: exp(-5 * NaiveLayer.sigmoid(rate * x))
            }
        }
    }

    @Test(arguments: KimiVariant.allCases)
    func `Kimi delta attention, its decays bounded or not, its projections of low rank or not`(
        variant: KimiVariant
    ) throws {
        let (width, heads, headWidth) = (16, 3, 8)
        let inner = heads * headWidth
        var layer = Naive(architecture: "kimi-linear", width: width)
        if variant != .linear { layer.metadata.append(("kda.gate_lower_bound", .float32(-5))) }
        layer.key("ssm.conv_kernel", 4)
        layer.key("kda.head_dim", headWidth)
        for part in ["q", "k", "v"] {
            layer.matrix("attn_\(part).weight", from: width, to: inner)
            layer.vector("ssm_conv1d_\(part).weight", [4, 1, inner])
        }
        let isLowRank = ["f": variant != .ling3, "g": variant == .linear]
        let wholeName = ["f": "ssm_f_a", "g": variant == .k3 ? "ssm_g" : "ssm_g_a"]
        for part in ["f", "g"] {
            if isLowRank[part]! {
                layer.matrix("ssm_\(part)_a.weight", from: width, to: headWidth)
                layer.matrix("ssm_\(part)_b.weight", from: headWidth, to: inner)
            } else {
                layer.matrix(wholeName[part]! + ".weight", from: width, to: inner)
            }
        }
        func project(_ part: String, _ x: [Double]) -> [Double] {
            isLowRank[part]!
                ? layer.linear("ssm_\(part)_b", layer.linear("ssm_\(part)_a", x)) : layer.linear(wholeName[part]!, x)
        }
        layer.matrix("ssm_beta.weight", from: width, to: heads)
        layer.matrix("attn_output.weight", from: inner, to: width)
        layer.vector("ssm_a", [1, heads], -4 ... -0.1)
        layer.vector("ssm_dt.bias", [inner])
        layer.vector("ssm_norm.weight", [headWidth], 0.5...1.5)
        let (a, bias, norm) = (layer.values("ssm_a"), layer.values("ssm_dt.bias"), layer.values("ssm_norm.weight"))
        var state = (0..<heads).map { _ in NaiveHeadState(headWidth, headWidth) }
        try check(layer, .mamba, { try KimiDeltaAttention($0, heads: heads, variant.style) }) { rows, t in
            func convolved(_ part: String) -> [Double] {
                layer.convolve("ssm_conv1d_\(part).weight", rows.map { layer.linear("attn_" + part, $0) }, t)
                    .map(Naive.silu)
            }
            let (q, k, v) = (convolved("q"), convolved("k"), convolved("v"))
            let decays = project("f", rows[t])
            let gates = project("g", rows[t])
            let betas = layer.linear("ssm_beta", rows[t])
            var y: [Double] = []
            for head in 0..<heads {
                let query = Naive.unit(q.part(head, headWidth)).map { $0 / Double(headWidth).squareRoot() }
                let key = Naive.unit(k.part(head, headWidth))
                state[head].decay(
                    zip(decays.part(head, headWidth), bias.part(head, headWidth)).map {
                        variant.decay(a[head], $0 + $1)
                    })
                let beta = Naive.sigmoid(betas[head])
                let value = v.part(head, headWidth)
                state[head].add(key, zip(value, state[head].read(key)).map { beta * ($0 - $1) })
                y += zip(Naive.rms(state[head].read(query), norm), gates.part(head, headWidth)).map {
                    $0 * Naive.sigmoid($1)
                }
            }
            return layer.linear("attn_output", y)
        }
    }

    @Test func `lightning attention`() throws {
        let (width, heads, headWidth) = (24, 4, 6)
        let inner = heads * headWidth
        var layer = Naive(architecture: "minimax-01", width: width)
        layer.metadata += [
            ("attention.head_count", .uint32(UInt32(heads))), ("expert_count", .uint32(4)),
            ("expert_used_count", .uint32(2)), ("expert_feed_forward_length", .uint32(16)),
        ]
        layer.matrix("attn_qkv.weight", from: width, to: 3 * inner)
        layer.matrix("attn_gate.weight", from: width, to: inner)
        layer.matrix("attn_output.weight", from: inner, to: width)
        layer.vector("attn_norm_2.weight", [inner], 0.5...1.5)
        var state = (0..<heads).map { _ in NaiveHeadState(headWidth, headWidth) }
        try check(layer, .minimax01, { try LightningAttention($0) }) { rows, t in
            let projected = layer.linear("attn_qkv", rows[t]).map(Naive.silu)
            var y: [Double] = []
            for head in 0..<heads {
                let parts = (0..<3).map { projected.part(3 * head + $0, headWidth) }
                // ALiBi's slopes of four heads: 1/4, 1/16, 1/64, 1/256.
                let decay = exp(-pow(0.25, Double(head + 1)) * (1 + 1e-5))
                state[head].decay(Array(repeating: decay, count: headWidth))
                state[head].add(parts[1], parts[2])
                y += state[head].read(parts[0])
            }
            let gates = layer.linear("attn_gate", rows[t])
            let normed = Naive.rms(y, layer.values("attn_norm_2.weight"))
            return layer.linear("attn_output", zip(normed, gates).map { $0 * Naive.sigmoid($1) })
        }
    }

    @Test(arguments: [false, true]) func `RWKV 6, and as Qwen2 got it`(isQwen: Bool) throws {
        let (width, headWidth, extra, rank) = (32, 8, 5, 7)
        let heads = width / headWidth
        let kvHeads = isQwen ? 2 : heads
        var layer = Naive(architecture: "rwkv6", width: width)
        for (key, value) in [
            ("wkv.head_size", headWidth), ("time_mix_extra_dim", extra), ("time_decay_extra_dim", rank),
        ] {
            layer.key(key, value)
        }
        layer.vector("time_mix_lerp_x.weight", [width, 1, 1], 0...1)
        layer.vector("time_mix_lerp_fused.weight", [width, 1, 1, 5], 0...1)
        layer.matrix("time_mix_w1.weight", from: width, to: 5 * extra)
        layer.matrix("time_mix_w2.weight", from: extra, to: width, count: 5)
        layer.matrix("time_mix_decay_w1.weight", from: width, to: rank)
        layer.matrix("time_mix_decay_w2.weight", from: rank, to: width)
        layer.vector("time_mix_decay.weight", [width], -3...1)
        layer.matrix("time_mix_receptance.weight", from: width, to: width)
        layer.matrix("time_mix_key.weight", from: width, to: kvHeads * headWidth)
        layer.matrix("time_mix_value.weight", from: width, to: kvHeads * headWidth)
        layer.matrix("time_mix_gate.weight", from: width, to: width)
        layer.matrix("time_mix_output.weight", from: width, to: width)
        if isQwen {
            layer.vector("time_mix_key.bias", [kvHeads * headWidth])
        } else {
            layer.vector("time_mix_first.weight", [headWidth, heads])
            layer.vector("time_mix_ln.weight", [width], 0.5...1.5)
            layer.vector("time_mix_ln.bias", [width])
        }
        let (shareOfX, shares) = (
            layer.values("time_mix_lerp_x.weight"), layer.values("time_mix_lerp_fused.weight")
        )
        var state = (0..<heads).map { _ in NaiveHeadState(headWidth, headWidth) }
        try check(
            layer, isQwen ? .rwkv6qwen2 : .rwkv6,
            { try RWKV6($0, kvHeads: isQwen ? kvHeads : 0, hasChannelMix: !isQwen) }
        ) { rows, t in
            let low = layer.linear("time_mix_w1", Naive.shift(rows, t, shareOfX)).map { tanh($0) }
            let mixed = (0..<5).map { part -> [Double] in
                let own = layer.linear("time_mix_w2", low.part(part, extra), part)
                return Naive.shift(rows, t, zip(own, shares.part(part, width)).map { $0 + $1 })
            }
            let decayLow = layer.linear("time_mix_decay_w1", mixed[0]).map { tanh($0) }
            let w = zip(layer.linear("time_mix_decay_w2", decayLow), layer.values("time_mix_decay.weight")).map {
                exp(-exp($0 + $1))
            }
            let k = layer.linear("time_mix_key", mixed[1]), v = layer.linear("time_mix_value", mixed[2])
            let r = layer.linear("time_mix_receptance", mixed[3]), g = layer.linear("time_mix_gate", mixed[4])
            var y: [Double] = []
            for head in 0..<heads {
                let source = head / (heads / kvHeads)
                let decay = w.part(head, headWidth), query = r.part(head, headWidth)
                var key = k.part(source, headWidth)
                let value = v.part(source, headWidth)
                if isQwen {
                    key = zip(key, decay).map { $0 * (1 - $1) }
                    state[head].decay(decay)
                    state[head].add(key, value)
                    y += state[head].read(query).map { $0 / Double(headWidth).squareRoot() }
                } else {
                    let u = layer.values("time_mix_first.weight").part(head, headWidth)
                    let weight = key.indices.reduce(0) { $0 + query[$1] * u[$1] * key[$1] }
                    y += zip(state[head].read(query), value).map { $0 + weight * $1 }
                    state[head].decay(decay)
                    state[head].add(key, value)
                }
            }
            if !isQwen { y = layer.headNorm("time_mix_ln", y, headWidth) }
            return layer.linear(
                "time_mix_output", zip(y, g).map { $0 * (isQwen ? Naive.sigmoid($1) : Naive.silu($1)) })
        }
    }

    @Test(arguments: [false, true]) func `RWKV 7, with and without a gate`(hasGate: Bool) throws {
        let (width, headWidth, rank) = (32, 16, 5)
        let heads = width / headWidth
        var layer = Naive(architecture: "rwkv7", width: width)
        layer.key("wkv.head_size", headWidth)
        for (part, key) in [("w", "decay"), ("a", "iclr"), ("g", "gate")] where hasGate || part != "g" {
            layer.key("attention.\(key)_lora_rank", rank)
            layer.matrix("time_mix_\(part)1.weight", from: width, to: rank)
            layer.matrix("time_mix_\(part)2.weight", from: rank, to: width)
            if part != "g" { layer.vector("time_mix_\(part)0.weight", [width]) }
        }
        layer.vector("time_mix_lerp_fused.weight", [width, 1, 1, hasGate ? 6 : 5], 0...1)
        for part in ["receptance", "key", "value", "output"] {
            layer.matrix("time_mix_\(part).weight", from: width, to: width)
        }
        for part in ["k_k", "k_a", "r_k"] { layer.vector("time_mix_\(part).weight", [width]) }
        layer.vector("time_mix_ln.weight", [width], 0.5...1.5)
        layer.vector("time_mix_ln.bias", [width])
        let shares = layer.values("time_mix_lerp_fused.weight")
        func low(_ part: String, _ x: [Double], _ function: (Double) -> Double) -> [Double] {
            layer.linear("time_mix_\(part)2", layer.linear("time_mix_\(part)1", x).map(function))
        }
        var state = (0..<heads).map { _ in NaiveHeadState(headWidth, headWidth) }
        try check(layer, .rwkv7, { try RWKV7($0, hasChannelMix: true) }) { rows, t in
            let mixed = (0..<(hasGate ? 6 : 5)).map { Naive.shift(rows, t, shares.part($0, width)) }
            let r = layer.linear("time_mix_receptance", mixed[0]), v = layer.linear("time_mix_value", mixed[3])
            let w = zip(low("w", mixed[1]) { tanh($0) }, layer.values("time_mix_w0.weight")).map {
                exp(-exp(-0.5) * Naive.sigmoid($0 + $1))
            }
            let a = zip(low("a", mixed[4]) { $0 }, layer.values("time_mix_a0.weight")).map { Naive.sigmoid($0 + $1) }
            let plain = layer.linear("time_mix_key", mixed[2])
            let weighted = zip(plain, layer.values("time_mix_k_k.weight")).map { $0 * $1 }
            let k = plain.indices.map { plain[$0] * (1 + (a[$0] - 1) * layer.values("time_mix_k_a.weight")[$0]) }
            var y: [Double] = []
            for head in 0..<heads {
                let own = weighted.part(head, headWidth)
                let length = own.reduce(0) { $0 + $1 * $1 }.squareRoot()
                let unit = own.map { $0 / length }
                let removed = state[head].read(unit)
                state[head].decay(w.part(head, headWidth))
                state[head].add(zip(unit, a.part(head, headWidth)).map { $0 * $1 }, removed.map { -$0 })
                state[head].add(k.part(head, headWidth), v.part(head, headWidth))
                y += state[head].read(r.part(head, headWidth))
            }
            y = layer.headNorm("time_mix_ln", y, headWidth)
            let bonus = layer.values("time_mix_r_k.weight")
            y = y.indices.map { index in
                let head = index / headWidth * headWidth
                return y[index] + (head..<head + headWidth).reduce(0) { $0 + r[$1] * k[$1] * bonus[$1] } * v[index]
            }
            if hasGate { y = zip(y, low("g", mixed[5], Naive.sigmoid)).map { $0 * $1 } }
            return layer.linear("time_mix_output", y)
        }
    }

    @Test(arguments: [false, true]) func `RWKV's channel mix, of 6 and of 7`(hasReceptance: Bool) throws {
        let width = 16
        var layer = Naive(architecture: "rwkv6", width: width)
        layer.vector("channel_mix_lerp_k.weight", [width, 1, 1], 0...1)
        layer.matrix("channel_mix_key.weight", from: width, to: 24)
        layer.matrix("channel_mix_value.weight", from: 24, to: width)
        if hasReceptance {
            layer.vector("channel_mix_lerp_r.weight", [width, 1, 1], 0...1)
            layer.matrix("channel_mix_receptance.weight", from: width, to: width)
        }
        try check(
            layer, .rwkv6, { try RWKVChannelMix($0, hasReceptance: hasReceptance) },
            state: .recurrent(floats: 2 * width)
        ) { rows, t in
            let key = layer.linear("channel_mix_key", Naive.shift(rows, t, layer.values("channel_mix_lerp_k.weight")))
            let value = layer.linear("channel_mix_value", key.map { max(0, $0) * max(0, $0) })
            guard hasReceptance else { return value }
            let gate = layer.linear(
                "channel_mix_receptance", Naive.shift(rows, t, layer.values("channel_mix_lerp_r.weight")))
            return zip(value, gate).map { $0 * Naive.sigmoid($1) }
        }
    }
}
