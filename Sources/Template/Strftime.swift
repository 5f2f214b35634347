import Foundation

extension Renderer {
    /// Python's `datetime.now().strftime(format)`, in the local time zone.
    func strftime(_ format: String) throws(TemplateError) -> String {
        let time = (now ?? Date()).timeIntervalSince1970
        guard time.magnitude < 1e11 else { throw fail("the time is out of range") }
        var seconds = time_t(time.rounded(.down))  // below 1e11, so it cannot overflow
        let microseconds = Int(((time - time.rounded(.down)) * 1e6).rounded(.down))
        var parts = tm()
        localtime_r(&seconds, &parts)
        try charge(100 + format.utf8.count)
        guard format.utf8.count <= 1000 else { throw fail("strftime_now's format is too long", .limit) }
        // A NUL would end the text in C; `%f` is Python's own; `%z` is empty for a time without a time zone.
        guard !format.utf8.contains(0) else { throw fail("embedded null character in strftime_now's format") }
        let expanded = expand(format, microseconds)
        // Each directive produces less than 64 bytes in all locales of the C library.
        var buffer = [CChar](repeating: 0, count: 256 + expanded.utf8.count * 64)
        // The leading blank distinguishes an empty result from one that does not fit.
        let count = Foundation.strftime(&buffer, buffer.count, " " + expanded, &parts)
        guard count > 0 else { throw fail("the time that strftime_now writes is too long", .limit) }
        return String(decoding: buffer[1..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func expand(_ format: String, _ microseconds: Int) -> String {
        var result = ""
        var reader = ScalarReader(format)
        while let scalar = reader.next() {
            result.unicodeScalars.append(scalar)
            guard scalar == "%", let directive = reader.next() else { continue }
            switch directive {
            case "f":
                result.unicodeScalars.removeLast()
                result += String(format: "%06d", microseconds)
            case "z", "Z": result.unicodeScalars.removeLast()
            default: result.unicodeScalars.append(directive)
            }
        }
        return result
    }
}
