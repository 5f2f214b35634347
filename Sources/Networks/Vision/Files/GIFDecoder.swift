/// Decodes the first frame of a GIF file (CompuServe, GIF89a specification, 1990), as far as its last pixel.
struct GIFDecoder {
    private let file: [UInt8]
    /// Behind the signature.
    private var next = 6

    init(_ file: [UInt8]) { self.file = file }

    mutating func image(_ limits: RGBImage.Limits) throws(ImageFileError) -> RGBImage {
        let screen = RGBImage.Size(width: try word(), height: try word())
        let flags = try byte()
        // The index of the background color, which browsers ignore, and the aspect ratio.
        next += 2
        let shared = try palette(flags)
        var transparent: UInt8?
        while true {
            switch try byte() {
            case 0x21:
                if let index = try readExtension() { transparent = index }
            case 0x2C:
                return try frame(on: screen, shared, transparent: transparent, limits)
            default:
                throw Self.damage("it ends before its first frame")
            }
        }
    }

    /// An extension block.
    ///
    /// - Returns: The index of the transparent color, if the block has one.
    private mutating func readExtension() throws(ImageFileError) -> UInt8? {
        let isControl = try byte() == 0xF9
        var transparent: UInt8?
        while case let length = Int(try byte()), length > 0 {
            if isControl, length >= 4, next + length <= file.count, file[next] & 1 == 1 { transparent = file[next + 3] }
            next += length
        }
        return transparent
    }

    /// The colors that a descriptor's flags announce, 3 bytes each; `nil` if there are none.
    private mutating func palette(_ flags: UInt8) throws(ImageFileError) -> ArraySlice<UInt8>? {
        guard flags & 0x80 != 0 else { return nil }
        let count = 3 << (Int(flags & 7) + 1)
        guard next + count <= file.count else { throw Self.damage("it ends within its colors") }
        defer { next += count }
        return file[next..<next + count]
    }

    /// The frame on white. Parts of the screen that it leaves free are transparent, and a screen that is too small grows,
    /// as in browsers.
    private mutating func frame(
        on screen: RGBImage.Size, _ shared: ArraySlice<UInt8>?, transparent: UInt8?, _ limits: RGBImage.Limits
    ) throws(ImageFileError) -> RGBImage {
        let (left, top) = (try word(), try word())
        let size = RGBImage.Size(width: try word(), height: try word())
        let flags = try byte()
        try limits.check(size, "GIF")
        let whole = RGBImage.Size(
            width: max(screen.width, left + size.width), height: max(screen.height, top + size.height))
        try limits.check(whole, "GIF")
        guard let palette = try palette(flags) ?? shared else { throw Self.damage("it has no colors") }
        let indices = try indices(size.width * size.height)
        var pixels = [UInt8](repeating: 255, count: 3 * whole.width * whole.height)
        for (row, y) in Self.rows(size.height, isInterlaced: flags & 0x40 != 0).enumerated() {
            var place = 3 * ((top + y) * whole.width + left)
            for index in indices[row * size.width..<(row + 1) * size.width] {
                if index != transparent {
                    // Indices behind the last color are black.
                    let color = palette.startIndex + 3 * Int(index)
                    for offset in 0..<3 {
                        pixels[place + offset] = color < palette.endIndex ? palette[color + offset] : 0
                    }
                }
                place += 3
            }
        }
        return RGBImage(unchecked: whole, pixels)
    }

    /// The rows of a frame in the order of the file.
    private static func rows(_ height: Int, isInterlaced: Bool) -> [Int] {
        guard isInterlaced else { return Array(0..<height) }
        return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    }

    /// The first `count` color indices of a frame, whose codes (LZW, at most 12 bits) come in blocks of up to 255 bytes.
    private mutating func indices(_ count: Int) throws(ImageFileError) -> [UInt8] {
        let bits = Int(try byte())
        guard (2...8).contains(bits) else {
            throw Self.damage("its codes begin with \(bits) bits, 2 to 8 are expected")
        }
        var output = [UInt8](repeating: 0, count: count)
        var (written, table) = (0, LZWTable(bits: bits))
        var (window, held) = (0, 0)
        while written < count {
            if Task.isCancelled { throw .cancelled }
            let length = Int(try byte())
            guard length > 0, next + length <= file.count else { throw Self.damage("it ends before its last row") }
            for byte in file[next..<next + length] {
                window |= Int(byte) << held
                held += 8
                while held >= table.width, written < count {
                    let code = window & ((1 << table.width) - 1)
                    window >>= table.width
                    held -= table.width
                    switch code {
                    case table.clear: table.reset()
                    case table.clear + 1: throw Self.damage("it ends before its last row")
                    default:
                        guard table.accept(code) else { throw Self.damage("a code in it has no meaning") }
                        written = table.write(code, to: &output, at: written)
                    }
                }
            }
            next += length
        }
        return output
    }

    // MARK: Numbers

    private mutating func byte() throws(ImageFileError) -> UInt8 {
        guard next < file.count else { throw Self.damage("it ends before its last row") }
        defer { next += 1 }
        return file[next]
    }

    private mutating func word() throws(ImageFileError) -> Int { Int(try byte()) | Int(try byte()) << 8 }

    private static func damage(_ reason: String) -> ImageFileError {
        ImageFileError("The GIF image is damaged: \(reason).")
    }
}

/// The strings that LZW's codes stand for: each is another code's string and one byte more.
private struct LZWTable {
    private static let capacity = 4096

    /// The code that empties the table; the next one ends the image.
    let clear: Int
    /// Bits of the next code.
    private(set) var width: Int
    /// The first code without a meaning.
    private var free: Int
    private var last: Int?
    private var prefix = [UInt16](repeating: 0, count: capacity)
    private var lengths = [UInt16](repeating: 1, count: capacity)
    /// The first and the last byte of each string.
    private var firsts = [UInt8](repeating: 0, count: capacity)
    private var suffix = [UInt8](repeating: 0, count: capacity)

    init(bits: Int) {
        clear = 1 << bits
        width = bits + 1
        free = clear + 2
        for code in 0..<clear { (firsts[code], suffix[code]) = (UInt8(code), UInt8(code)) }
    }

    mutating func reset() {
        // `clear` is 2 to the power of the first codes' bits.
        width = clear.trailingZeroBitCount + 1
        free = clear + 2
        last = nil
    }

    /// Adds the string that the code implies: the last one with the first byte of this one.
    ///
    /// - Returns: Whether the code has a meaning.
    mutating func accept(_ code: Int) -> Bool {
        guard code < free || code == free && last != nil else { return false }
        if let last, free < Self.capacity {
            prefix[free] = UInt16(last)
            lengths[free] = lengths[last] + 1
            firsts[free] = firsts[last]
            suffix[free] = firsts[code == free ? last : code]
            free += 1
            if free == 1 << width, width < 12 { width += 1 }
        }
        last = code
        return code < free
    }

    /// Writes the code's string, as far as there is room for it, and returns where it ends.
    func write(_ code: Int, to output: inout [UInt8], at start: Int) -> Int {
        var (code, place) = (code, start + Int(lengths[code]))
        let end = min(place, output.count)
        while place > start {
            place -= 1
            if place < end { output[place] = suffix[code] }
            code = Int(prefix[code])
        }
        return end
    }
}
