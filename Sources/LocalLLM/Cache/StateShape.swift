import KernelFormats
import KernelsPortable

/// What one layer of a network remembers of a sequence.
indirect enum LayerState: Sendable, Equatable {
    case none
    /// A key and a value per token and KV head.
    ///
    /// `window`: a token sees at most the `window − 1` tokens before it; `nil`: all of them. Pages behind the window are
    /// given back.
    case keysAndValues(heads: Int, keyWidth: Int, valueWidth: Int, window: Int? = nil)
    /// One vector per token, which is the key of all heads; its first `valueWidth` values are also the value (MLA).
    /// `window` as above.
    case latent(width: Int, valueWidth: Int, window: Int? = nil)
    /// A fixed number of floats per sequence, all zero before the first token.
    case recurrent(floats: Int)
    /// The keys and values of another layer.
    case shared(layer: Int)
    /// Attention and a recurrent mixer side by side in one layer (Falcon-H1).
    case both(LayerState, LayerState)
}

/// What a network remembers of a sequence: a state per layer, and where each lies in memory.
///
/// Layers with the same window share pages: a page holds up to 32 consecutive tokens in all layers of its group.
/// The floats of all recurrent layers lie in one buffer per sequence.
struct StateShape: Sendable, Equatable {
    /// The most rows of a step: enough for the matrix products to run at full speed.
    static let stepRows = 512

    let layers: [LayerState]
    /// Numbers in pages. Recurrent floats are always kept as they are.
    var format: KVCacheFormat {
        didSet {
            let bytes = encodingBytes
            self = StateShape(layers, format: format)
            encodingBytes = bytes
        }
    }

    /// Layers with the same window.
    struct Group: Sendable, Equatable {
        let window: Int?
        fileprivate(set) var pageBytes = 0

        /// The first token that one at `position` sees.
        func oldest(seenFrom position: Int) -> Int { window.map { max(0, position - $0 + 1) } ?? 0 }
    }

    /// Where the pages of a group hold the keys and values of one layer.
    struct PagedLayer: Sendable, Equatable {
        let group: Int
        /// Bytes from the beginning of a page to the layer's first head.
        fileprivate(set) var offset = 0
        let heads: Int
        let keyWidth: Int
        let valueWidth: Int
        /// Whether values are the beginnings of the keys and not stored again.
        let isLatent: Bool
        let format: KVCacheFormat

        var storedValueWidth: Int { isLatent ? 0 : valueWidth }
        var bytePage: BytePage { BytePage(keyWidth: keyWidth, valueWidth: storedValueWidth) }
        /// One head's part of a page: keys `[keyWidth][32]`, values `[32][valueWidth]`; as bytes, with scales behind each.
        var headBytes: Int {
            switch format {
            case .f16: pageTokens * (keyWidth + storedValueWidth) * MemoryLayout<UInt16>.stride
            case .q8_0: bytePage.byteCount
            }
        }
    }

    /// Bytes of the longest input's encoding, of an encoder-decoder.
    var encodingBytes = 0
    private(set) var groups: [Group] = []
    /// Floats of all recurrent layers; each layer's begin at a multiple of 64 bytes.
    private(set) var recurrentFloats = 0
    private var pagedLayers: [PagedLayer?]
    private var recurrentOffsets: [Int?]

    /// - Parameter layers: A shared state names a layer that has keys and values of its own.
    init(_ layers: [LayerState], format: KVCacheFormat = .f16) {
        self.layers = layers
        self.format = format
        pagedLayers = Array(repeating: nil, count: layers.count)
        recurrentOffsets = Array(repeating: nil, count: layers.count)
        for (index, layer) in layers.enumerated() { place(layer, at: index) }
        for case (let index, .shared(let other)) in layers.enumerated() { pagedLayers[index] = pagedLayers[other] }
    }

    private mutating func place(_ state: LayerState, at index: Int) {
        switch state {
        case .none, .shared: break
        case .keysAndValues(let heads, let keyWidth, let valueWidth, let window):
            addPages(index, heads, keyWidth, valueWidth, isLatent: false, window)
        case .latent(let width, let valueWidth, let window):
            addPages(index, 1, width, valueWidth, isLatent: true, window)
        case .recurrent(let floats):
            recurrentOffsets[index] = recurrentFloats
            recurrentFloats += (floats + 15) / 16 * 16
        case .both(let first, let second):
            place(first, at: index)
            place(second, at: index)
        }
    }

    private mutating func addPages(
        _ index: Int, _ heads: Int, _ keyWidth: Int, _ valueWidth: Int, isLatent: Bool, _ window: Int?
    ) {
        let group = groups.firstIndex { $0.window == window } ?? groups.endIndex
        if group == groups.endIndex { groups.append(Group(window: window)) }
        var layer = PagedLayer(
            group: group, heads: heads, keyWidth: keyWidth, valueWidth: valueWidth, isLatent: isLatent, format: format)
        layer.offset = groups[group].pageBytes
        groups[group].pageBytes += heads * layer.headBytes
        pagedLayers[index] = layer
    }

    /// Whether pages alone do not tell what was remembered at an earlier length.
    var needsCheckpoints: Bool { recurrentFloats > 0 || sharedGroups.count < groups.count }

    /// Groups without a window: any sequence that begins with the same tokens needs all of their pages.
    var sharedGroups: [Int] { groups.indices.filter { groups[$0].window == nil } }

    /// - Precondition: The layer has keys and values, or another's.
    func pages(of layer: Int) -> PagedLayer {
        guard let paged = pagedLayers[layer] else { preconditionFailure("layer \(layer) has no keys and values") }
        return paged
    }

    /// Where the layer's floats begin among those of all recurrent layers.
    ///
    /// - Precondition: The layer is recurrent.
    func recurrentOffset(of layer: Int) -> Int {
        guard let offset = recurrentOffsets[layer] else { preconditionFailure("layer \(layer) is not recurrent") }
        return offset
    }
}

// MARK: Costs

extension StateShape {
    /// Bytes that a token adds for as long as the sequence lives: keys and values of the layers without a window.
    var bytesPerToken: Int {
        groups.reduce(0) { $0 + ($1.window == nil ? $1.pageBytes : 0) } / pageTokens
    }

    /// Bytes of a token's keys and values that a later token reads in layers with this window, those that share too.
    func readBytesPerToken(window: Int?) -> Int {
        pagedLayers.reduce(0) { sum, layer in
            guard let layer, groups[layer.group].window == window else { return sum }
            return sum + layer.heads * layer.headBytes / pageTokens
        }
    }

    /// Bytes that a sequence of any length may take beside: recurrent floats, and windows when they are full.
    var fixedBytes: Int { bytes(tokens: .max, { $0.window != nil }) + recurrentBytes + encodingBytes }

    /// Bytes of a page of each group.
    var pageBytes: Int { groups.reduce(0) { $0 + $1.pageBytes } }

    var recurrentBytes: Int { recurrentFloats * MemoryLayout<Float>.stride }

    /// Bytes of a sequence with so many tokens, at most. What does not fit an `Int` counts as an exbibyte.
    func bytes(tokens: Int) -> Int {
        min(bytes(tokens: tokens, { _ in true }) + recurrentBytes + encodingBytes, 1 << 60)
    }

    /// Tokens of one sequence whose state fits, at most `limit`.
    func tokens(in bytes: Int, limit: Int) -> Int {
        var (fits, tooMany) = (0, limit / pageTokens + 1)
        while tooMany - fits > 1 {
            let pages = (fits + tooMany) / 2
            if self.bytes(tokens: pages * pageTokens) <= bytes { fits = pages } else { tooMany = pages }
        }
        return self.bytes(tokens: limit) <= bytes ? limit : fits * pageTokens
    }

    private func bytes(tokens: Int, _ counts: (Group) -> Bool) -> Int {
        groups.filter(counts).reduce(0) { sum, group in
            // Pages behind a window are given back when the next step begins; the first and the last are there in part.
            let held = group.window.map { min(tokens, min($0, 1 << 40) + Self.stepRows + 2 * pageTokens) } ?? tokens
            let pages = held / pageTokens + (held % pageTokens == 0 ? 0 : 1)
            let (bytes, overflow) = pages.multipliedReportingOverflow(by: group.pageBytes)
            return min(sum + (overflow ? 1 << 60 : min(bytes, 1 << 60)), 1 << 60)
        }
    }
}
