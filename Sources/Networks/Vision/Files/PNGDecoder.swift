import CImages
import Platform

/// Decodes a PNG file up to its last row and no further: a megabyte of surplus data can inflate to a gigabyte.
///
/// Chunks that do not affect the pixels are skipped. The others go to libpng in pieces, so that decoding ends soon after
/// the task is cancelled.
struct PNGDecoder: ~Copyable {
    private let file: [UInt8]
    private let reader: UnsafeMutablePointer<png_reader>
    /// The next byte to read, and the end of its chunk.
    private var (next, chunkEnd) = (0, 8)

    /// Inflates to 4 MiB at most.
    private static let pieceBytes = 4096
    private static let usedChunks = ["IHDR", "PLTE", "tRNS", "gAMA", "sRGB", "cHRM", "IDAT", "IEND"]
    /// Maximum length of a chunk other than `IDAT`: a palette of 256 colors has 768 bytes.
    private static let chunkBytes = 1024

    init(_ file: [UInt8], _ library: SharedLibrary<libpng>) throws(ImageFileError) {
        self.file = file
        reader = .allocate(capacity: 1)
        reader.initialize(to: png_reader())
        guard png_reader_start(reader, library.functions) != 0 else {
            throw ImageFileError("Not enough memory to decode the PNG image.")
        }
    }

    deinit {
        png_reader_free(reader)
        reader.deallocate()
    }

    mutating func image(_ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        guard let width = file.number(at: 16, bytes: 4), let height = file.number(at: 20, bytes: 4) else {
            throw Self.damage("it ends before its size")
        }
        let size = RGBImage.Size(width: width, height: height)
        try limits.check(size, "PNG")
        while reader.pointee.channels == 0 { try readPiece() }
        let channels = Int(reader.pointee.channels)
        var pixels = [UInt8](repeating: 0, count: channels * size.width * size.height)
        let failure = pixels.withUnsafeMutableBufferPointer { pixels -> ImageFileError? in
            reader.pointee.pixels = pixels.baseAddress
            do throws(ImageFileError) {
                while png_reader_has_all_rows(reader) == 0 { try readPiece() }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        return channels == 4 ? RGBImage(size, overWhite: pixels) : RGBImage(unchecked: size, pixels)
    }

    /// Reads a part of a chunk: its length and name, or some of what follows.
    private mutating func readPiece() throws(ImageFileError) {
        if Task.isCancelled { throw .cancelled }
        var end = min(next + Self.pieceBytes, chunkEnd, file.count)
        if next == chunkEnd {
            try findChunk()
            end = next + 8
        }
        guard end > next else { throw Self.damage("it ends before its last row") }
        let isRead = file.withUnsafeBytes { png_reader_read(reader, $0.baseAddress! + next, end - next) }
        guard isRead != 0 else {
            throw Self.damage(
                withUnsafeBytes(of: reader.pointee.message) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        next = end
    }

    /// Moves to the next chunk that is not skipped.
    private mutating func findChunk() throws(ImageFileError) {
        while let length = file.number(at: next, bytes: 4), next <= file.count - 8 {
            chunkEnd = next + 12 + length
            let name = String(decoding: file[next + 4..<next + 8], as: UTF8.self)
            // An upper-case letter marks the chunks that a decoder must understand.
            if Self.usedChunks.contains(name) || file[next + 4] & 0x20 == 0 {
                guard length <= Self.chunkBytes || name == "IDAT" else {
                    throw Self.damage("its chunk \(name) has \(length) bytes, at most \(Self.chunkBytes) are expected")
                }
                return
            }
            guard chunkEnd <= file.count else { break }
            next = chunkEnd
        }
        throw Self.damage("it ends before its last row")
    }

    private static func damage(_ reason: String) -> ImageFileError {
        ImageFileError("The PNG image is damaged: \(reason).")
    }
}
