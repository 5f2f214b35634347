import Foundation
import TestSupport
import Testing

@testable import LocalLLM

/// Image files: read as they are meant, refused where they are too large or broken, and never a crash.
struct ImageFileTests {
    private static func file(_ name: String) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: files[name] ?? "")))
    }

    @Test(.enabled(if: Fixtures.exist("more/images/gradient-64x64.png"), "reference data is not here"))
    func `PNG files have the pixels that the reference reads`() throws {
        for name in ["gradient-64x64", "checker-100x70", "waves-150x130"] {
            let image = try RGBImage(file: Array(Data(contentsOf: Fixtures.url("more/images/\(name).png"))))
            #expect(try Data(image.bytes) == Data(contentsOf: Fixtures.url("more/images/\(name).rgb")))
        }
    }

    @Test func `what is no image is refused, and said what it begins with`() {
        #expect(throws: ImageFileError("This is not a PNG, JPEG or WebP image: it is empty.")) {
            try RGBImage(file: [])
        }
        #expect(throws: ImageFileError("This is not a PNG, JPEG or WebP image: it begins with the bytes 71 73 70 56."))
        {
            try RGBImage(file: Array("GIF89a".utf8))
        }
    }

    @Test(arguments: ["jpeg", "progressive", "webp", "lossless", "cmyk", "palette"])
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
        #expect(name == "lossless" ? error == 0 : error < 3 * 13 * 9 * 40, "\(error)")
    }

    @Test(arguments: ["alpha", "alphawebp"])
    func `what is transparent becomes white`(name: String) throws {
        let image = try RGBImage(file: try Self.file(name))
        #expect(image.bytes == [255, 0, 0, 127, 127, 255])
    }

    @Test func `an image of too many pixels is refused before they are read`() throws {
        // The header of a PNG of 60,000 by 60,000 pixels, with nothing behind it.
        var header: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
        header += Array("IHDR".utf8) + [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60, 8, 2, 0, 0, 0]
        #expect(throws: ImageFileError.self) { try RGBImage(file: header) }
        #expect(throws: ImageFileError.self) { try RGBImage(file: try Self.file("jpeg"), limits: .init(bytes: 10)) }
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
            let directory =
                number(1, 2) + number(0x0112, 2) + number(3, 2) + number(1, 4) + number(orientation, 2) + [0, 0]
            let exif = Array((isLittleEndian ? "II" : "MM").utf8) + number(42, 2) + number(8, 4) + directory
            #expect(Exif.orientation(exif[...]) == orientation)
            for length in exif.indices { _ = Exif.orientation(exif[..<length]) }
            let segment = Array("Exif\0\0".utf8) + exif
            let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment + [0xFF, 0xDA]
            #expect(ImageFormat.jpeg.orientation(of: jpeg) == orientation)
        }
    }

    /// Small files of each format, made by other programs.
    static let files: [String: String] = [
        "alpha":
            "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAEUlEQVR4nGP4z8Dwn4HhfwMAD3oDfgvLLrEAAAAASUVORK5C"
            + "YII=",
        "alphawebp":
            "UklGRiAAAABXRUJQVlA4TBMAAAAvAQAAEA8Q+z//D/yPChWI6H8AAA==",
        "cmyk":
            "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZM"
            + "TlJTUjI+WmFaUGBKUVJP/8AAFAgACQANBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//E"
            + "ALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2"
            + "Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrC"
            + "w8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwDmfDP8FZv/AAhn/TL9KwNJ0v7v"
            + "y16dXqukf8elH/CGf9Mv0rsbLS/3P3aK8q8M/wAFem1maT/DRXqukf8AHpRXY2X+por/2Q==",
        "jpeg":
            "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdB"
            + "RkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
            + "T09PT09PT09PT09PT0//wAARCAAJAA0DASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAA"
            + "AgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6"
            + "Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXG"
            + "x8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREA"
            + "AgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5"
            + "OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPE"
            + "xcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDFsfD/AE+T9K37fw/+7+5+laVj2rftv9XU"
            + "UqsjHK8yrcp//9k=",
        "lossless":
            "UklGRi4AAABXRUJQVlA4TCEAAAAvDAACAM1lRP9jV4NaFLz/ASEBYYj/UzV9JsY/JgA46wYA",
        "palette":
            "iVBORw0KGgoAAAANSUhEUgAAAA0AAAAJBAMAAAAbVLtZAAAAGFBMVEWrxLCrfpUwxGkwfk2rOHmrAGMwODIwABwzCqdbAAAA"
            + "NklEQVR4nD3KwQmAMAwAwLNkZ6cUnKArJH8t8VHweXDHyeQJXbreSBKDxbrjYm6D6CIZ9T/wATCBElRjQSGCAAAAAElFTkSu"
            + "QmCC",
        "progressive":
            "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdB"
            + "RkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
            + "T09PT09PT09PT09PT0//wgARCAAJAA0DASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAABAX/xAAUAQEAAAAAAAAAAAAA"
            + "AAAAAAAC/9oADAMBAAIQAxAAAAET00CP/8QAGBABAAMBAAAAAAAAAAAAAAAAAgAEITH/2gAIAQEAAQUCFeGvgh5//8QAFxEA"
            + "AwEAAAAAAAAAAAAAAAAAAAIEEf/aAAgBAwEBPwGWl8P/xAAWEQEBAQAAAAAAAAAAAAAAAAACAAH/2gAIAQIBAT8BK2//xAAU"
            + "EAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAY/Ah//xAAXEAADAQAAAAAAAAAAAAAAAAAAEFFh/9oACAEBAAE/IciBz//aAAwD"
            + "AQACAAMAAAAQa//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQMBAT8QB//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQIB"
            + "AT8Qb//EABkQAAEFAAAAAAAAAAAAAAAAAAAQMUHB8f/aAAgBAQABPxBipgkEv//Z",
        "webp":
            "UklGRkQAAABXRUJQVlA4IDgAAACwAQCdASoNAAkAAsBMJbACdAEOtW9oAP7244S7vbD6ZGLa666j7+a9Ysl+0/qOmPJ/thDi"
            + "BeAAAA==",
    ]

    @Test(arguments: files.keys.sorted())
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
