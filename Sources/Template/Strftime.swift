package import Foundation

extension Renderer {
    /// Python's `datetime.now().strftime(format)`, in the local time zone.
    func strftime(_ format: String) throws(TemplateError) -> String {
        let time = now ?? Date()
        guard time.timeIntervalSince1970.magnitude < 1e11 else { throw fail("the time is out of range") }
        try charge(100 + format.utf8.count)
        guard format.utf8.count <= 1000 else { throw fail("strftime_now's format is too long", .limit) }
        // A NUL would end the text in C.
        guard !format.utf8.contains(0) else { throw fail("embedded null character in strftime_now's format") }
        guard let text = time.text(format) else { throw fail("the time that strftime_now writes is too long", .limit) }
        return text
    }
}

extension Date {
    /// The time as `strftime` of Python's `datetime` writes it, in the local time zone.
    ///
    /// The time is less than 10^11 seconds from 1970.
    ///
    /// - Parameter format: Without NUL.
    /// - Returns: `nil` if the text is too long.
    package func text(_ format: String) -> String? {
        let time = timeIntervalSince1970
        var seconds = time_t(time.rounded(.down))
        let microseconds = Int(((time - time.rounded(.down)) * 1e6).rounded(.down))
        var parts = tm()
        localtime_r(&seconds, &parts)
        let expanded = Self.expand(format, microseconds)
        // Each directive produces less than 64 bytes in all locales of the C library.
        var buffer = [CChar](repeating: 0, count: 256 + expanded.utf8.count * 64)
        // The leading blank distinguishes an empty result from one that does not fit.
        let count = strftime(&buffer, buffer.count, " " + expanded, &parts)
        guard count > 0 else { return nil }
        return String(decoding: buffer[1..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// `%f` is Python's own; `%z` is empty for a time without a time zone.
    private static func expand(_ format: String, _ microseconds: Int) -> String {
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
