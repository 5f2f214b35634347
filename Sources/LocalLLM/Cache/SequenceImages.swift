/// The pictures of a sequence, whose vectors are in it in place of tokens. Forks of a sequence share it.
final class SequenceImages: Sendable {
    /// A picture, or a piece of one.
    struct Placed: Sendable {
        /// Which tokens of the sequence.
        let tokens: Range<Int>
        let rows: ImageRows
    }

    /// Ascending.
    let images: [Placed]
    let sight: ImageSight
    /// Whether tokens of pictures have rows and columns. The text after one then goes on behind the longer side (M-RoPE, Wang
    /// et al. 2024).
    private let hasGridPositions: Bool
    /// By picture: how much earlier positions after it are than their number in the sequence.
    private let shifts: [Int]

    /// - Parameter images: At least one.
    init(_ images: [Placed], sight: ImageSight, hasGridPositions: Bool) {
        self.images = images
        self.sight = sight
        self.hasGridPositions = hasGridPositions
        var shift = 0
        shifts = images.map { image in
            if hasGridPositions { shift += image.tokens.count - max(image.rows.rows, image.rows.columns) }
            return shift
        }
    }

    /// Where a token of the sequence stands.
    func place(ofToken token: Int) -> Place {
        guard hasGridPositions else { return Place(Int32(token)) }
        let index = indexOfLast(startingUpTo: token)
        guard let index else { return Place(Int32(token)) }
        guard images[index].tokens.contains(token) else { return Place(Int32(token - shifts[index])) }
        let first = images[index].tokens.lowerBound
        let start = Int32(first - (index == 0 ? 0 : shifts[index - 1]))
        let columns = images[index].rows.columns
        return Place(
            time: start, row: start + Int32((token - first) / columns), column: start + Int32((token - first) % columns)
        )
    }

    /// The end of what a token sees.
    ///
    /// - Parameter hasWindow: Whether in a layer that has one.
    func end(seenFromToken token: Int, hasWindow: Bool) -> Int {
        guard sight == .whole || sight == .wholeInWindows && hasWindow, let image = image(at: token) else {
            return token + 1
        }
        return image.tokens.upperBound
    }

    /// Where a piece of the prompt ends that may take `range`: tokens that see each other are computed together.
    func pieceEnd(_ range: Range<Int>) -> Int {
        guard sight != .causal, let image = image(at: range.upperBound),
            image.tokens.lowerBound < range.upperBound
        else { return range.upperBound }
        return image.tokens.lowerBound > range.lowerBound ? image.tokens.lowerBound : image.tokens.upperBound
    }

    private func image(at token: Int) -> Placed? {
        indexOfLast(startingUpTo: token).map { images[$0] }.flatMap { $0.tokens.contains(token) ? $0 : nil }
    }

    private func indexOfLast(startingUpTo token: Int) -> Int? {
        var (low, high) = (0, images.count)
        while low < high {
            let middle = (low + high) / 2
            if images[middle].tokens.lowerBound <= token { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }
}

/// What a picture's tokens see of each other in the language model.
enum ImageSight: Sendable {
    case causal
    /// All of them, in every layer.
    case whole
    /// All of them in layers with a window.
    case wholeInWindows
}
