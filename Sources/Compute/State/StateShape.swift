import KernelFormats

/// The per-sequence state of one layer.
package indirect enum LayerState: Sendable, Equatable {
    case none
    /// A key and a value per token and KV head.
    ///
    /// `window`: a token attends to itself and at most the `window − 1` tokens before it; `nil`: to all. Pages behind
    /// the window are released.
    case keysAndValues(heads: Int, keyWidth: Int, valueWidth: Int, window: Int? = nil)
    /// One vector per token, which is the key of all heads; its first `valueWidth` values are also the value (MLA).
    /// `window` as above.
    case latent(width: Int, valueWidth: Int, window: Int? = nil)
    /// One vector for every `tokens` tokens, which is key and value of all heads (DeepSeek V4). `tokens` divides 32 or is
    /// a multiple of it. Always stored as halves.
    case compressed(width: Int, tokens: Int)
    /// A fixed number of floats per sequence, zero before the first token.
    case recurrent(floats: Int)
    /// Reads the keys and values of another layer.
    case shared(layer: Int)
    /// Two states of one layer, such as attention and a recurrent mixer in parallel (Falcon-H1).
    case both(LayerState, LayerState)
}

/// The layout of a sequence's state: the state of each layer and its place in memory.
///
/// Layers with the same window share pages: a page holds up to 32 consecutive tokens in all layers of its group. The
/// floats of all recurrent layers are in one buffer per sequence.
package struct StateShape: Sendable, Equatable {
    /// Maximum prompt rows of a step: enough for matrix products to run at full speed.
    package static let stepRows = 512

    package let layers: [LayerState]
    /// Format of the numbers in pages. Recurrent floats are always stored as `Float`.
    package var format: KVCacheFormat {
        didSet {
            let bytes = encodingBytes
            self = StateShape(layers, format: format)
            encodingBytes = bytes
        }
    }

    /// Layers with the same window.
    package struct Group: Sendable, Equatable {
        package let window: Int?
        fileprivate(set) var pageBytes = 0

        /// The first token that a token at `position` attends to.
        func oldest(seenFrom position: Int) -> Int { window.map { max(0, position - $0 + 1) } ?? 0 }
    }

    /// Layout of one layer in the pages of its group.
    package struct PagedLayer: Sendable, Equatable {
        let group: Int
        /// Bytes from the start of a page to the layer's first head.
        fileprivate(set) var offset = 0
        package let heads: Int
        package let keyWidth: Int
        let valueWidth: Int
        /// Whether values are prefixes of the keys and not stored separately.
        let isLatent: Bool
        let format: KVCacheFormat
        /// Vectors of a head in a page: one per token, or fewer if they are compressed.
        var slots = pageTokens

        var storedValueWidth: Int { isLatent ? 0 : valueWidth }
        /// Whether keys and values are stored rotated (`hadamard`).
        var isRotated: Bool { format == .q4 }
        /// `nil`: keys and values are halves.
        var quantizedPage: QuantizedPage? {
            switch format {
            case .f16: nil
            case .q8_0: QuantizedPage(.bytes, keyWidth: keyWidth, valueWidth: storedValueWidth)
            case .q4: QuantizedPage(.nibbles, keyWidth: keyWidth, valueWidth: storedValueWidth)
            }
        }
        /// Bytes of one head in a page: keys `[keyWidth][32]`, values `[32][valueWidth]`, and the scales of each.
        var headBytes: Int {
            quantizedPage?.byteCount ?? slots * (keyWidth + storedValueWidth) * MemoryLayout<UInt16>.stride
        }
    }

    /// Bytes of the encoding of the longest input, in an encoder-decoder.
    package var encodingBytes = 0
    package private(set) var groups: [Group] = []
    /// Floats of all recurrent layers; each layer starts at a multiple of 64 bytes.
    package private(set) var recurrentFloats = 0
    private var pagedLayers: [PagedLayer?]
    private var compressedLayers: [PagedLayer?]
    private var recurrentOffsets: [Int?]

    /// - Parameter layers: A `.shared` state must name a layer with keys and values of its own.
    package init(_ layers: [LayerState], format: KVCacheFormat = .f16) {
        self.layers = layers
        self.format = format
        pagedLayers = Array(repeating: nil, count: layers.count)
        compressedLayers = pagedLayers
        recurrentOffsets = Array(repeating: nil, count: layers.count)
        for (index, layer) in layers.enumerated() { place(layer, at: index) }
        for case (let index, .shared(let other)) in layers.enumerated() { pagedLayers[index] = pagedLayers[other] }
    }

    private mutating func place(_ state: LayerState, at index: Int) {
        let format = format
        switch state {
        case .none, .shared: break
        case .keysAndValues(let heads, let keyWidth, let valueWidth, let window):
            pagedLayers[index] = addPages(window) {
                PagedLayer(
                    group: $0, heads: heads, keyWidth: keyWidth, valueWidth: valueWidth, isLatent: false, format: format
                )
            }
        case .latent(let width, let valueWidth, let window):
            pagedLayers[index] = addPages(window) {
                PagedLayer(
                    group: $0, heads: 1, keyWidth: width, valueWidth: valueWidth, isLatent: true, format: format)
            }
        case .compressed(let width, let tokens):
            compressedLayers[index] = addPages(nil) {
                PagedLayer(
                    group: $0, heads: 1, keyWidth: width, valueWidth: width, isLatent: true, format: .f16,
                    slots: max(1, pageTokens / tokens))
            }
        case .recurrent(let floats):
            recurrentOffsets[index] = recurrentFloats
            recurrentFloats += (floats + 15) / 16 * 16
        case .both(let first, let second):
            place(first, at: index)
            place(second, at: index)
        }
    }

    /// Adds a layer to the pages of the group with this window.
    private mutating func addPages(_ window: Int?, _ make: (_ group: Int) -> PagedLayer) -> PagedLayer {
        let group = groups.firstIndex { $0.window == window } ?? groups.endIndex
        if group == groups.endIndex { groups.append(Group(window: window)) }
        var layer = make(group)
        layer.offset = groups[group].pageBytes
        groups[group].pageBytes += layer.heads * layer.headBytes
        return layer
    }

    /// Whether rolling back or sharing prefixes needs checkpoints beside the pages.
    package var needsCheckpoints: Bool { recurrentFloats > 0 || sharedGroups.count < groups.count }

    /// Groups without a window: a sequence with a shared prefix needs all of their pages.
    var sharedGroups: [Int] { groups.indices.filter { groups[$0].window == nil } }

    /// - Precondition: The layer has keys and values, or shares another layer's.
    package func pages(of layer: Int) -> PagedLayer {
        guard let paged = pagedLayers[layer] else { preconditionFailure("layer \(layer) has no keys and values") }
        return paged
    }

    /// - Precondition: The layer has compressed vectors.
    package func compressedPages(of layer: Int) -> PagedLayer {
        guard let paged = compressedLayers[layer] else { preconditionFailure("layer \(layer) compresses nothing") }
        return paged
    }

    /// Offset of the layer's floats among those of all recurrent layers.
    ///
    /// - Precondition: The layer is recurrent.
    func recurrentOffset(of layer: Int) -> Int {
        guard let offset = recurrentOffsets[layer] else { preconditionFailure("layer \(layer) is not recurrent") }
        return offset
    }
}

// MARK: Costs

extension StateShape {
    /// Bytes per token that stay for the life of the sequence: keys and values of the layers without a window.
    var bytesPerToken: Int {
        groups.reduce(0) { $0 + ($1.window == nil ? $1.pageBytes : 0) } / pageTokens
    }

    /// Bytes of a token's keys and values that a later token reads in layers with this window, or sharing one.
    package func readBytesPerToken(window: Int?) -> Int {
        (pagedLayers + compressedLayers).reduce(0) { sum, layer in
            guard let layer, groups[layer.group].window == window else { return sum }
            return sum + layer.heads * layer.headBytes / pageTokens
        }
    }

    /// Maximum bytes of a sequence that do not depend on its length: recurrent floats, full windows, encoding.
    var fixedBytes: Int { bytes(tokens: .max, { $0.window != nil }) + recurrentBytes + encodingBytes }

    /// Bytes of one page in every group.
    package var pageBytes: Int { groups.reduce(0) { $0 + $1.pageBytes } }

    package var recurrentBytes: Int { recurrentFloats * MemoryLayout<Float>.stride }

    /// Maximum bytes of a sequence of so many tokens. Overflow is reported as an exbibyte.
    package func bytes(tokens: Int) -> Int {
        min(bytes(tokens: tokens, { _ in true }) + recurrentBytes + encodingBytes, 1 << 60)
    }

    /// Tokens of one sequence whose state fits into `bytes`, at most `limit`.
    package func tokens(in bytes: Int, limit: Int) -> Int {
        var (fits, tooMany) = (0, limit / pageTokens + 1)
        while tooMany - fits > 1 {
            let pages = (fits + tooMany) / 2
            if self.bytes(tokens: pages * pageTokens) <= bytes { fits = pages } else { tooMany = pages }
        }
        return self.bytes(tokens: limit) <= bytes ? limit : fits * pageTokens
    }

    private func bytes(tokens: Int, _ counts: (Group) -> Bool) -> Int {
        groups.filter(counts).reduce(0) { sum, group in
            // Pages behind a window are released when the next step begins; the outermost pages are partly used.
            let held = group.window.map { min(tokens, min($0, 1 << 40) + Self.stepRows + 2 * pageTokens) } ?? tokens
            let pages = held / pageTokens + (held % pageTokens == 0 ? 0 : 1)
            let (bytes, overflow) = pages.multipliedReportingOverflow(by: group.pageBytes)
            return min(sum + (overflow ? 1 << 60 : min(bytes, 1 << 60)), 1 << 60)
        }
    }
}
