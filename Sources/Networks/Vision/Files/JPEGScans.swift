/// Counts the scans of a JPEG file: a progressive one may have any number, and each is a pass over all pixels.
enum JPEGScans {
    static func count(in file: [UInt8]) -> Int {
        var (scans, next) = (0, 2)
        while let marker = file[min(next, file.count)...].firstIndex(of: 0xFF), marker + 1 < file.count {
            let code = file[marker + 1]
            next = marker + 2
            switch code {
            // A byte of the pixels' data, a restart marker within it, or the image's start.
            case 0x00, 0x01, 0xD0...0xD8: continue
            // Padding before a marker.
            case 0xFF: next = marker + 1
            case 0xD9: return scans
            default:
                if code == 0xDA { scans += 1 }
                next += file.number(at: next, bytes: 2) ?? 0
            }
        }
        return scans
    }
}
