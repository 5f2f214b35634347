/// What a sequence has besides text: images, whose vectors replace token embeddings. Shared by forks of the sequence.
package final class SequenceMedia: Sendable {
    /// An image, or a piece of one.
    package struct Placed: Sendable {
        /// The tokens of the sequence that the image occupies.
        package let tokens: Range<Int>
        package let rows: MediaRows

        package init(tokens: Range<Int>, rows: MediaRows) {
            (self.tokens, self.rows) = (tokens, rows)
        }

    }

    /// Ascending by token range.
    package let placed: [Placed]
    let sight: ImageSight
    /// Whether image tokens have rows and columns. Text after an image then continues at the larger of both (M-RoPE,
    /// Wang et al. 2024).
    private let hasGridPositions: Bool
    /// By image: difference between the index of a token after it and its position.
    private let shifts: [Int]

    /// - Parameter placed: At least one.
    package init(_ placed: [Placed], sight: ImageSight, hasGridPositions: Bool) {
        self.placed = placed
        self.sight = sight
        self.hasGridPositions = hasGridPositions
        var shift = 0
        shifts = placed.map { image in
            if hasGridPositions { shift += image.tokens.count - max(image.rows.rows, image.rows.columns) }
            return shift
        }
    }

    /// Position of a token of the sequence.
    package func place(ofToken token: Int) -> RotaryPosition {
        guard hasGridPositions else { return RotaryPosition(Int32(token)) }
        let index = indexOfLast(startingUpTo: token)
        guard let index else { return RotaryPosition(Int32(token)) }
        guard placed[index].tokens.contains(token) else { return RotaryPosition(Int32(token - shifts[index])) }
        let first = placed[index].tokens.lowerBound
        let start = Int32(first - (index == 0 ? 0 : shifts[index - 1]))
        let columns = placed[index].rows.columns
        return RotaryPosition(
            time: start, row: start + Int32((token - first) / columns), column: start + Int32((token - first) % columns)
        )
    }

    /// End of the tokens that a token attends to.
    ///
    /// - Parameter hasWindow: Whether the layer has a window.
    package func end(seenFromToken token: Int, hasWindow: Bool) -> Int {
        guard sight == .whole || sight == .wholeInWindows && hasWindow, let image = image(at: token) else {
            return token + 1
        }
        return image.tokens.upperBound
    }

    /// Where a prefill chunk of this range has to end: tokens that attend to each other are computed in one step.
    package func pieceEnd(_ range: Range<Int>) -> Int {
        guard sight != .causal, let image = image(at: range.upperBound),
            image.tokens.lowerBound < range.upperBound
        else { return range.upperBound }
        return image.tokens.lowerBound > range.lowerBound ? image.tokens.lowerBound : image.tokens.upperBound
    }

    private func image(at token: Int) -> Placed? {
        indexOfLast(startingUpTo: token).map { placed[$0] }.flatMap { $0.tokens.contains(token) ? $0 : nil }
    }

    private func indexOfLast(startingUpTo token: Int) -> Int? {
        var (low, high) = (0, placed.count)
        while low < high {
            let middle = (low + high) / 2
            if placed[middle].tokens.lowerBound <= token { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }
}

/// How an image's tokens attend to each other in the language model.
package enum ImageSight: Sendable {
    case causal
    /// All to all, in every layer.
    case whole
    /// All to all in layers with a window, causally in the others.
    case wholeInWindows
}
