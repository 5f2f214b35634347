import Networks
import Compute
import Synchronization

/// The cache of recent images by contents and salt: their vectors, and their token IDs.
///
/// Each image has unique negative IDs, so that equal images give equal tokens and the prefix cache works. IDs wrap
/// around after 2³¹ image tokens, long after pages with the old ones were evicted.
final class ImageMemory: Sendable {
    struct Key: Hashable, Sendable {
        let pieces: TiledImage
        /// Separates clients, as in `PrefixCache`: their images also have IDs of their own.
        var salt: String?
    }

    private struct Entry {
        let image: ModelImage
        let bytes: Int
        var lastUse: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var bytes = 0
        var clock = 0
        var nextID = 1
    }

    private let state = Mutex(State())
    private let byteLimit: Int
    private static let countLimit = 1024

    /// - Parameter byteLimit: Maximum bytes of vectors and pixels; a larger image is kept until the next one comes.
    init(byteLimit: Int = 256 << 20) { self.byteLimit = byteLimit }

    subscript(key: Key) -> ModelImage? {
        state.withLock { state in
            state.clock += 1
            state.entries[key]?.lastUse = state.clock
            return state.entries[key]?.image
        }
    }

    func remember(
        _ key: Key, rows: [MediaRows], markers: [ImageMarkers.Element], of imageReader: ImageReader
    ) -> ModelImage {
        let tokens = rows.reduce(0) { $0 + $1.matrix.rows }
        let bytes = rows.reduce(0) { $0 + $1.bytes } + key.pieces.all.reduce(0) { $0 + $1.bytes.count }
        return state.withLock { state in
            state.clock += 1
            let image = ModelImage(
                pieces: markers, rows: rows, firstID: Self.ids(tokens, &state), imageReader: imageReader)
            state.entries[key] = Entry(image: image, bytes: bytes, lastUse: state.clock)
            state.bytes += bytes
            while state.bytes > byteLimit || state.entries.count > Self.countLimit,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse }),
                oldest.value.lastUse != state.clock
            {
                state.entries[oldest.key] = nil
                state.bytes -= oldest.value.bytes
            }
            return image
        }
    }

    /// First ID of a range of `count` unused IDs.
    private static func ids(_ count: Int, _ state: inout State) -> Int {
        var first = state.nextID
        while true {
            if first + count > Int(Int32.max) { first = 1 }
            let range = first..<first + count
            guard let other = state.entries.values.first(where: { $0.image.ids.overlaps(range) }) else { break }
            first = other.image.ids.upperBound
        }
        state.nextID = first + count
        return first
    }
}
