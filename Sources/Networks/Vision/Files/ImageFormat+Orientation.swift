extension ImageFormat {
    /// Exif's orientation, 1...8; 1, upright, if it is missing or unreadable.
    func orientation(of file: [UInt8]) -> Int {
        let found: Int? =
            switch self {
            case .png: pngExif(file).flatMap { Exif.orientation($0) }
            case .jpeg: jpegExif(file).flatMap { Exif.orientation($0) }
            case .webP: webPExif(file).flatMap { Exif.orientation($0) }
            case .gif: nil
            }
        return found ?? 1
    }

    /// The contents of the chunk `eXIf`.
    private func pngExif(_ file: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = file.dropFirst(8)
        while let length = rest.number(at: 0, bytes: 4), length <= rest.count - 12 {
            let name = rest.dropFirst(4).prefix(4)
            if name.elementsEqual("eXIf".utf8) { return rest.dropFirst(8).prefix(length) }
            if name.elementsEqual("IDAT".utf8) { return nil }
            rest = rest.dropFirst(12 + length)
        }
        return nil
    }

    /// The data after `Exif` in an APP1 segment before the pixels.
    private func jpegExif(_ file: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = file.dropFirst(2)
        while rest.count >= 4, rest.first == 0xFF {
            let marker = rest[rest.startIndex + 1]
            if marker == 0xFF {
                rest = rest.dropFirst()
                continue
            }
            // Pixels begin, or the image ends.
            if marker == 0xDA || marker == 0xD9 { return nil }
            guard let length = rest.number(at: 2, bytes: 2), (2...rest.count - 2).contains(length) else { return nil }
            let segment = rest.dropFirst(4).prefix(length - 2)
            if marker == 0xE1, segment.starts(with: Array("Exif\0\0".utf8)) { return segment.dropFirst(6) }
            rest = rest.dropFirst(2 + length)
        }
        return nil
    }

    /// The contents of the chunk `EXIF`.
    private func webPExif(_ file: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = file.dropFirst(12)
        while let length = rest.number(at: 4, bytes: 4, isLittleEndian: true), length <= rest.count - 8 {
            if rest.prefix(4).elementsEqual("EXIF".utf8) {
                let contents = rest.dropFirst(8).prefix(length)
                return contents.starts(with: Array("Exif\0\0".utf8)) ? contents.dropFirst(6) : contents
            }
            rest = rest.dropFirst(8 + length + length % 2)
        }
        return nil
    }
}

/// TIFF's directories, as Exif has them (CIPA DC-008, 4.6).
enum Exif {
    /// - Parameter data: TIFF data, beginning with the byte order.
    static func orientation(_ data: ArraySlice<UInt8>) -> Int? {
        let isLittleEndian = data.starts(with: Array("II".utf8))
        guard isLittleEndian || data.starts(with: Array("MM".utf8)) else { return nil }
        func number(_ offset: Int, _ bytes: Int) -> Int? {
            data.number(at: offset, bytes: bytes, isLittleEndian: isLittleEndian)
        }
        guard number(2, 2) == 42, let directory = number(4, 4), let count = number(directory, 2) else { return nil }
        for entry in 0..<count {
            let offset = directory + 2 + 12 * entry
            guard let tag = number(offset, 2) else { return nil }
            // The orientation tag: one 16-bit number.
            if tag == 0x0112, number(offset + 2, 2) == 3, let value = number(offset + 8, 2) { return value }
        }
        return nil
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    /// The number of `bytes` bytes at `offset` from the start; `nil` beyond the end.
    func number(at offset: Int, bytes: Int, isLittleEndian: Bool = false) -> Int? {
        guard offset >= 0, offset <= count - bytes else { return nil }
        var number = 0
        for index in 0..<bytes {
            number = number << 8 | Int(self[startIndex + offset + (isLittleEndian ? bytes - 1 - index : index)])
        }
        return number
    }
}
