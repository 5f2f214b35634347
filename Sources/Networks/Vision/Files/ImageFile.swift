import Platform

/// Why an image file could not be decoded, with the expected and the found value.
public struct ImageFileError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String
    /// Whether the image was not decoded since the system lacks the library for its format.
    public let isLibraryMissing: Bool

    init(_ description: String) { (self.description, isLibraryMissing) = (description, false) }

    init(missingLibrary error: SharedLibraryError, for format: String) {
        (description, isLibraryMissing) = ("\(format) images cannot be read here: \(error).", true)
    }

    /// The task was cancelled while the file was decoded.
    static let cancelled = ImageFileError("The image was not decoded: its task was cancelled.")
}

extension RGBImage {
    /// Limits for image files, checked before memory is allocated for pixels.
    public struct Limits: Sendable {
        /// Maximum size of the file in bytes.
        public var bytes: Int
        /// Maximum width times height.
        public var pixels: Int

        public init(bytes: Int = 32 << 20, pixels: Int = 40_000_000) {
            self.bytes = bytes
            self.pixels = pixels
        }

        /// Maximum passes over a progressive image of `pixels` pixels. Encoders make about ten.
        private static let scans = 25

        /// - Parameter scans: Passes over the pixels.
        func check(scans: Int, of size: Size) throws(ImageFileError) {
            let allowed = Self.scans * pixels / (size.width * size.height)
            guard scans <= allowed else {
                throw ImageFileError(
                    "The JPEG image has \(scans) scans; an image of \(size) pixels may have at most \(allowed).")
            }
        }

        func check(_ size: Size, _ format: String) throws(ImageFileError) {
            guard size.width > 0, size.height > 0 else {
                throw ImageFileError("The \(format) image has no pixels: its size is \(size).")
            }
            guard size.width <= RGBImage.longestSide, size.height <= RGBImage.longestSide,
                size.width * size.height <= pixels
            else {
                throw ImageFileError(
                    "The \(format) image of \(size) pixels is too large: at most \(pixels) pixels, and \(RGBImage.longestSide) a side, are read."
                )
            }
        }
    }

    /// Decodes a PNG, JPEG or WebP file, or the first frame of a GIF file, and applies its Exif orientation. Transparency is blended with white.
    /// Fails early if the task is cancelled.
    ///
    /// - Parameter file: Any bytes; throws if they are not an image.
    public init(file: [UInt8], limits: Limits = Limits()) throws(ImageFileError) {
        guard file.count <= limits.bytes else {
            throw ImageFileError(
                "The image file of \(file.count) bytes is too large: at most \(limits.bytes) are read.")
        }
        guard let format = ImageFormat(of: file) else {
            let beginning = file.prefix(4).map { String($0) }.joined(separator: " ")
            throw ImageFileError(
                "This is not a PNG, JPEG, WebP or GIF image: it \(file.isEmpty ? "is empty" : "begins with the bytes \(beginning)")."
            )
        }
        if Task.isCancelled { throw .cancelled }
        let image = try format.decode(file, limits)
        self = image.turned(format.orientation(of: file))
    }
}

/// The supported image file formats.
enum ImageFormat {
    case png, jpeg, webP, gif

    /// Recognized by the file's first bytes; `nil` for other formats.
    init?(of file: [UInt8]) {
        if file.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if file.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if file.starts(with: Array("RIFF".utf8)), file.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            self = .webP
        } else if file.starts(with: Array("GIF87a".utf8)) || file.starts(with: Array("GIF89a".utf8)) {
            self = .gif
        } else {
            return nil
        }
    }
}

extension RGBImage {
    /// Blends RGBA pixels with white.
    init(_ size: Size, overWhite pixels: [UInt8]) {
        let count = size.width * size.height
        let bytes = [UInt8](unsafeUninitializedCapacity: 3 * count) { output, initialized in
            for pixel in 0..<count {
                let alpha = UInt32(pixels[4 * pixel + 3])
                for color in 0..<3 {
                    let value = UInt32(pixels[4 * pixel + color])
                    let blended: UInt32 = value * alpha + 255 * (255 - alpha)
                    output[3 * pixel + color] = UInt8((blended + 127) / 255)
                }
            }
            initialized = 3 * count
        }
        self.init(unchecked: size, bytes)
    }

    /// The image rotated for display by Exif's orientation 1...8; unchanged for other values.
    func turned(_ orientation: Int) -> RGBImage {
        guard (2...8).contains(orientation) else { return self }
        let isTurned = orientation >= 5
        let target = isTurned ? Size(width: size.height, height: size.width) : size
        let (width, height) = (size.width, size.height)
        let result = [UInt8](unsafeUninitializedCapacity: bytes.count) { output, count in
            for y in 0..<target.height {
                for x in 0..<target.width {
                    let (column, row) =
                        switch orientation {
                        case 2: (width - 1 - x, y)
                        case 3: (width - 1 - x, height - 1 - y)
                        case 4: (x, height - 1 - y)
                        case 5: (y, x)
                        case 6: (y, height - 1 - x)
                        case 7: (width - 1 - y, height - 1 - x)
                        default: (width - 1 - y, x)
                        }
                    let (from, to) = (3 * (row * width + column), 3 * (y * target.width + x))
                    for color in 0..<3 { output[to + color] = bytes[from + color] }
                }
            }
            count = bytes.count
        }
        return RGBImage(unchecked: target, result)
    }
}
