@testable import Networks
import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Image files: read as they are meant, refused where they are too large or broken, and never a crash.
struct ImageFileTests {
    private static func file(_ name: String) throws -> [UInt8] { Array(try #require(TestImages.files[name])) }

    @Test(.enabled(if: Fixtures.exist("more/images/gradient-64x64.png"), "reference data is not here"))
    func `PNG files have the pixels that the reference reads`() throws {
        for name in ["gradient-64x64", "checker-100x70", "waves-150x130"] {
            let image = try RGBImage(file: Array(Data(contentsOf: Fixtures.url("more/images/\(name).png"))))
            #expect(try Data(image.bytes) == Data(contentsOf: Fixtures.url("more/images/\(name).rgb")))
        }
    }

    @Test func `what is no image is refused, and said what it begins with`() {
        #expect(throws: ImageFileError("This is not a PNG, JPEG, WebP or GIF image: it is empty.")) {
            try RGBImage(file: [])
        }
        #expect(
            throws: ImageFileError("This is not a PNG, JPEG, WebP or GIF image: it begins with the bytes 66 77 1 2.")
        ) {
            try RGBImage(file: Array("BM".utf8) + [1, 2, 3])
        }
    }

    @Test(arguments: [
        "jpeg", "progressive", "webp", "lossless", "cmyk", "palette", "sixteen", "interlaced", "animated",
        "gif", "interlacedgif", "animatedgif",
    ])
    func `every format gives the image that was put in`(name: String) throws {
        let image = try RGBImage(file: try Self.file(name))
        #expect(image.size == RGBImage.Size(width: 13, height: 9))
        // Red grows to the right, green downwards, blue with both.
        var error = 0
        for y in 0..<9 {
            for x in 0..<13 {
                let pixel = image.bytes[3 * (13 * y + x)..<3 * (13 * y + x) + 3].map { Int($0) }
                error += abs(pixel[0] - x * 19) + abs(pixel[1] - y * 28) + abs(pixel[2] - (x + y) * 11)
            }
        }
        let isExact = ["lossless", "sixteen", "interlaced", "animated"].contains(name) || name.hasSuffix("gif")
        #expect(isExact ? error == 0 : error < 3 * 13 * 9 * 40, "\(error)")
    }

    @Test(arguments: ["gray", "grayjpeg"])
    func `gray images have equal colors`(name: String) throws {
        let image = try RGBImage(file: try Self.file(name))
        #expect(image.size == RGBImage.Size(width: 13, height: 9))
        var error = 0
        for y in 0..<9 {
            for x in 0..<13 {
                let pixel = image.bytes[3 * (13 * y + x)..<3 * (13 * y + x) + 3].map { Int($0) }
                #expect(pixel[0] == pixel[1] && pixel[1] == pixel[2])
                // Luminance (ITU-R 601) of the colors.
                error += abs(pixel[0] - (x * 19 * 299 + y * 28 * 587 + (x + y) * 11 * 114) / 1000)
            }
        }
        #expect(error < 13 * 9 * (name == "gray" ? 2 : 10), "\(error)")
    }

    @Test func `films in WebP are refused`() throws {
        #expect(throws: ImageFileError("The WebP image is a film; only stills are read.")) {
            try RGBImage(file: try Self.file("animatedwebp"))
        }
    }

    @Test(arguments: ["alpha", "alphawebp"])
    func `what is transparent becomes white`(name: String) throws {
        let image = try RGBImage(file: try Self.file(name))
        #expect(image.bytes == [255, 0, 0, 127, 127, 255])
    }

    @Test func `what is transparent in a GIF, or outside its frame, becomes white`() throws {
        #expect(try RGBImage(file: try Self.file("alphagif")).bytes == [255, 0, 0, 255, 255, 255])
        // The frame lies one pixel to the right on a screen of 3 x 1 pixels, or beyond a screen of no pixels.
        for screen: UInt8 in [3, 0] {
            var file = try Self.file("alphagif")
            let frame = try #require(file.indices.first { file[$0] == 0x2C && file[$0 + 5] == 2 })
            (file[6], file[frame + 1]) = (screen, 1)
            let image = try RGBImage(file: file)
            #expect(image.size == .init(width: 3, height: 1))
            #expect(image.bytes == [255, 255, 255, 255, 0, 0, 255, 255, 255])
        }
    }

    /// A GIF file of black pixels, whose codes are these of 3 bits, which empty the table before it needs longer ones.
    private static func gif(width: Int, height: Int, blocks: [UInt8]) -> [UInt8] {
        func word(_ value: Int) -> [UInt8] {
            [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        }
        let parts: [[UInt8]] = [
            Array("GIF89a".utf8), word(width), word(height), [0x80, 0, 0, 0, 0, 0, 255, 255, 255], [0x2C],
            word(0), word(0), word(width), word(height), [0, 2], blocks,
        ]
        return parts.flatMap { $0 }
    }

    @Test func `a GIF file is read up to the last pixel of its first frame`() throws {
        // Clear, 0, 0, then other codes: 4, 0, 0 in 9 bits.
        #expect(
            try RGBImage(file: Self.gif(width: 2, height: 1, blocks: [2, 4, 0xFE, 7, 9])).bytes == [0, 0, 0, 0, 0, 0])
        for (blocks, reason) in [
            ([UInt8]([2, 4, 0]), "it ends before its last row"), ([2, 4, 0, 0], "it ends before its last row"),
            // The code 7 before there is one, and the code 5, which ends the image.
            ([1, 0b0011_1100], "a code in it has no meaning"), ([1, 0b0010_1100], "it ends before its last row"),
        ] {
            #expect(throws: ImageFileError("The GIF image is damaged: \(reason).")) {
                try RGBImage(file: Self.gif(width: 9, height: 1, blocks: blocks))
            }
        }
        let errors = [
            (9, "it ends before its last row"), (15, "it ends within its colors"),
            (19, "it ends before its last row"),
        ]
        for (count, reason) in errors {
            #expect(throws: ImageFileError("The GIF image is damaged: \(reason).")) {
                try RGBImage(file: Array(Self.gif(width: 9, height: 1, blocks: [])[..<count]))
            }
        }
    }

    private static func pngChunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        func bytes(_ value: UInt32) -> [UInt8] {
            (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let chunk = Array(name.utf8) + data
        var checksum: UInt32 = .max
        for byte in chunk {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return bytes(UInt32(data.count)) + chunk + bytes(~checksum)
    }

    /// The beginning of a PNG file with 8 bits of red, green and blue.
    private static func pngHeader(width: Int, height: Int) -> [UInt8] {
        func bytes(_ value: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + pngChunk("IHDR", bytes(width) + bytes(height) + [8, 2, 0, 0, 0])
    }

    /// zlib's data of two rows of one pixel each. More data follow; where they should be, the file ends.
    private static let rowsAndMore: [UInt8] = [
        0x78, 0x01, 0x00, 0x08, 0x00, 0xF7, 0xFF, 0, 1, 2, 3, 0, 4, 5, 6, 0x00, 0xFF, 0xFF, 0x00, 0x00, 7, 7, 7,
    ]

    @Test func `a PNG file is read up to its last row`() throws {
        let header = Self.pngHeader(width: 1, height: 2)
        let file = header + Self.pngChunk("IDAT", Self.rowsAndMore)
        #expect(try RGBImage(file: file).bytes == [1, 2, 3, 4, 5, 6])
        // The rest is not even looked at.
        let claimed: [UInt8] = [0x7F, 0xFF, 0xFF, 0xFF] + Array("IDAT".utf8)
        #expect(try RGBImage(file: header + claimed + Self.rowsAndMore).bytes == [1, 2, 3, 4, 5, 6])
        let error = ImageFileError("The PNG image is damaged: it ends before its last row.")
        let cut = header + claimed + Array(Self.rowsAndMore[..<14])
        #expect(throws: error) { try RGBImage(file: cut) }
    }

    @Test func `chunks of a PNG file that say nothing about pixels are not read`() throws {
        // Texts and a profile that no inflater could read, and a chunk that nobody knows.
        let chunks = ["zTXt", "iTXt", "iCCP", "eXIf", "abCd"].flatMap { Self.pngChunk($0, [65, 0, 0, 1, 2, 3]) }
        let pixels = Self.pngChunk("IDAT", Self.rowsAndMore)
        let header = Self.pngHeader(width: 1, height: 2)
        #expect(try RGBImage(file: header + chunks + pixels).bytes == [1, 2, 3, 4, 5, 6])
        let palette = Self.pngChunk("PLTE", Array(repeating: 0, count: 1026))
        #expect(
            throws: ImageFileError(
                "The PNG image is damaged: its chunk PLTE has 1026 bytes, at most 1024 are expected.")
        ) { try RGBImage(file: header + palette + pixels) }
    }

    @Test func `a JPEG file has as many scans as its pixels allow`() throws {
        let file = try Self.file("progressive")
        let count = JPEGScans.count(in: file)
        #expect(count > 3)
        #expect(JPEGScans.count(in: try Self.file("jpeg")) == 1)
        let last = try #require(file.indices.dropLast().last { file[$0] == 0xFF && file[$0 + 1] == 0xDA })
        let end = try #require(file.indices.dropLast().last { file[$0] == 0xFF && file[$0 + 1] == 0xD9 })
        let more = (count..<26).flatMap { _ in file[last..<end] }
        let crowded = Array(file[..<end]) + more + Array(file[end...])
        #expect(JPEGScans.count(in: crowded) == 26)
        _ = try RGBImage(file: file, limits: .init(pixels: 13 * 9))
        _ = try RGBImage(file: crowded)
        #expect(
            throws: ImageFileError("The JPEG image has 26 scans; an image of 13 x 9 pixels may have at most 25.")
        ) { try RGBImage(file: crowded, limits: .init(pixels: 13 * 9)) }
        for length in file.indices { #expect(JPEGScans.count(in: Array(file[..<length])) <= count) }
    }

    @Test(arguments: TestImages.files.keys.sorted())
    func `a file is not decoded for a cancelled task`(name: String) async throws {
        let file = try Self.file(name)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try RGBImage(file: file)
        }
        let error = await #expect(throws: ImageFileError.self) { try await task.value }
        #expect(error == .cancelled)
    }

    /// The first bytes of a file that claims this size, with nothing behind its header.
    private static func header(_ format: String, width: Int, height: Int) -> [UInt8] {
        func bytes(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        switch format {
        case "PNG":
            return Self.pngHeader(width: width, height: height) + bytes(9, 4) + Array("IDAT".utf8)
        case "JPEG":
            let components: [UInt8] = [1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]
            let scan: [UInt8] = [0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0]
            let parts = [
                [0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8], bytes(height, 2), bytes(width, 2), [3], components, scan,
            ]
            return parts.flatMap { $0 }
        case "GIF":
            return Self.gif(width: width, height: height, blocks: [])
        default:
            // Lossless: 14 bits each of width - 1 and height - 1, lowest first.
            let size = (width - 1) | (height - 1) << 14
            let data: [UInt8] = [0x2F] + bytes(size, 4).reversed() + Array(repeating: 0, count: 15)
            let chunk = Array("WEBPVP8L".utf8) + bytes(data.count, 4).reversed() + data
            return Array("RIFF".utf8) + bytes(chunk.count, 4).reversed() + chunk
        }
    }

    @Test(arguments: [
        ("PNG", 60_000, 60_000), ("PNG", 100_000, 1), ("JPEG", 60_000, 60_000), ("WebP", 16_384, 16_384),
        ("GIF", 60_000, 60_000),
    ])
    func `an image of too many pixels is refused before memory is taken`(
        format: String, width: Int, height: Int
    ) throws {
        let file = Self.header(format, width: width, height: height)
        let error = #expect(throws: ImageFileError.self) { try RGBImage(file: file) }
        let text = try #require(error).description
        #expect(text.hasPrefix("The \(format) image of \(width) x \(height) pixels is too large"), "\(text)")
        // One pixel more than the limit, which the test sets.
        let small = Self.header(format, width: 100, height: 100)
        let other = #expect(throws: ImageFileError.self) { try RGBImage(file: small, limits: .init(pixels: 9999)) }
        #expect(try #require(other).description.contains("100 x 100 pixels is too large"))
        // Within the limit, the pixels are missing.
        let damaged = #expect(throws: ImageFileError.self) { try RGBImage(file: small) }
        #expect(try #require(damaged).description.contains("damaged"))
    }

    @Test(arguments: ["palette", "jpeg", "webp", "gif"])
    func `a file of too many bytes is refused`(name: String) throws {
        let file = try Self.file(name)
        let error = #expect(throws: ImageFileError.self) {
            try RGBImage(file: file, limits: .init(bytes: file.count - 1))
        }
        #expect(try #require(error).description.contains("\(file.count) bytes is too large"))
        _ = try RGBImage(file: file, limits: .init(bytes: file.count))
    }

    @Test(arguments: TestImages.files.keys.sorted())
    func `a file that ends early gives an error, or the pixels until then`(name: String) throws {
        let file = try Self.file(name)
        for count in 0..<file.count {
            guard let image = try? RGBImage(file: Array(file[..<count])) else { continue }
            #expect(image.bytes.count == 3 * image.size.width * image.size.height)
        }
    }

    @Test(arguments: 1...8)
    func `Exif's orientations are obeyed`(orientation: Int) throws {
        // 1 2 3
        // 4 5 6
        let bytes = (1...6).flatMap { [UInt8($0), UInt8($0), UInt8($0)] }
        let image = try #require(RGBImage(size: .init(width: 3, height: 2), bytes: bytes))
        let turned = image.turned(orientation)
        let pixels = stride(from: 0, to: 18, by: 3).map { Int(turned.bytes[$0]) }
        let expected: [[Int]] = [
            [1, 2, 3, 4, 5, 6], [3, 2, 1, 6, 5, 4], [6, 5, 4, 3, 2, 1], [4, 5, 6, 1, 2, 3], [1, 4, 2, 5, 3, 6],
            [4, 1, 5, 2, 6, 3], [6, 3, 5, 2, 4, 1], [3, 6, 2, 5, 1, 4],
        ]
        #expect(pixels == expected[orientation - 1])
        #expect(turned.size.width == (orientation < 5 ? 3 : 2))
        for isLittleEndian in [false, true] {
            func number(_ value: Int, _ count: Int) -> [UInt8] {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
                return isLittleEndian ? bytes : bytes.reversed()
            }
            let directory = [
                number(1, 2), number(0x0112, 2), number(3, 2), number(1, 4), number(orientation, 2), [0, 0],
            ]
            let start = [Array((isLittleEndian ? "II" : "MM").utf8), number(42, 2), number(8, 4)]
            let exif = (start + directory).flatMap { $0 }
            #expect(Exif.orientation(exif[...]) == orientation)
            for length in exif.indices { _ = Exif.orientation(exif[..<length]) }
            let segment = Array("Exif\0\0".utf8) + exif
            let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment + [0xFF, 0xDA]
            #expect(ImageFormat.jpeg.orientation(of: jpeg) == orientation)
        }
    }

    @Test(arguments: TestImages.files.keys.sorted())
    func `files with changed bytes give an image or an error`(format: String) throws {
        let file = try Self.file(format)
        var random = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            var changed = file
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { changed.removeLast(Int.random(in: 0..<changed.count, using: &random)) }
            if let image = try? RGBImage(file: changed, limits: .init(pixels: 1 << 20)) {
                #expect(image.bytes.count == 3 * image.size.width * image.size.height)
            }
        }
    }
}
