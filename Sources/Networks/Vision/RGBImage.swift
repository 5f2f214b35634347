/// An image in memory: rows from the top, three bytes per pixel.
public struct RGBImage: Sendable, Hashable {
    /// A size in pixels.
    public struct Size: Sendable, Hashable, CustomStringConvertible {
        public var width: Int
        public var height: Int

        public init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }

        public var description: String { "\(width) x \(height)" }
    }

    public let size: Size
    /// Red, green and blue of each pixel: 3 · width · height bytes.
    public let bytes: [UInt8]

    /// - Returns: `nil` if the size is empty or `bytes` does not have three bytes per pixel.
    public init?(size: Size, bytes: [UInt8]) {
        guard (1...Self.longestSide).contains(size.width), (1...Self.longestSide).contains(size.height),
            bytes.count == 3 * size.width * size.height
        else { return nil }
        self.init(unchecked: size, bytes)
    }

    /// - Parameter bytes: Three per pixel; not checked.
    init(unchecked size: Size, _ bytes: [UInt8]) {
        self.size = size
        self.bytes = bytes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(size)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Maximum side in pixels; products of such sizes cannot overflow.
    static let longestSide = 1 << 16
}

extension RGBImage {
    /// An image of one color.
    init(_ size: Size, filledWith color: (UInt8, UInt8, UInt8)) {
        var bytes = [UInt8](repeating: color.0, count: 3 * size.width * size.height)
        if color.1 != color.0 || color.2 != color.0 {
            for index in stride(from: 0, to: bytes.count, by: 3) {
                (bytes[index + 1], bytes[index + 2]) = (color.1, color.2)
            }
        }
        self.init(unchecked: size, bytes)
    }

    /// The part with its upper left corner at (x, y). It must lie within the image.
    func cropped(x: Int, y: Int, to size: Size) -> RGBImage {
        precondition(x >= 0 && y >= 0 && x + size.width <= self.size.width && y + size.height <= self.size.height)
        var part: [UInt8] = []
        part.reserveCapacity(3 * size.width * size.height)
        for row in y..<y + size.height {
            let start = 3 * (row * self.size.width + x)
            part.append(contentsOf: bytes[start..<start + 3 * size.width])
        }
        return RGBImage(unchecked: size, part)
    }

    /// A copy with another image drawn over it, upper left corner at (x, y). The other must fit.
    func covered(by other: RGBImage, x: Int, y: Int) -> RGBImage {
        precondition(x >= 0 && y >= 0 && x + other.size.width <= size.width && y + other.size.height <= size.height)
        var result = bytes
        for row in 0..<other.size.height {
            let source = 3 * row * other.size.width
            let target = 3 * ((y + row) * size.width + x)
            result.replaceSubrange(
                target..<target + 3 * other.size.width, with: other.bytes[source..<source + 3 * other.size.width])
        }
        return RGBImage(unchecked: size, result)
    }
}
