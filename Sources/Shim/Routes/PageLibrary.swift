import Foundation
import Wire

/// KaTeX for formulas, highlight.js for code and pdf.js for PDF files, if Debian's packages `libjs-katex`,
/// `libjs-highlight.js` and `libjs-pdf` are installed. Without the first two the page shows the source text.
enum PageLibrary {
    /// Files of the packages by the path under which they are served. No other file is ever read.
    static let files: [String: (file: String, type: String)] = {
        let fonts = [
            "AMS-Regular", "Caligraphic-Bold", "Caligraphic-Regular", "Fraktur-Bold", "Fraktur-Regular", "Main-Bold",
            "Main-BoldItalic", "Main-Italic", "Main-Regular", "Math-BoldItalic", "Math-Italic", "SansSerif-Bold",
            "SansSerif-Italic", "SansSerif-Regular", "Script-Regular", "Size1-Regular", "Size2-Regular",
            "Size3-Regular", "Size4-Regular", "Typewriter-Regular",
        ].map { ("katex/fonts/KaTeX_\($0).woff2", "font/woff2") }
        let others = [
            ("katex/katex.min.js", PageFile.script), ("katex/katex.min.css", PageFile.style),
            ("highlight.js/highlight.min.js", PageFile.script), ("pdf/build/pdf.js", PageFile.script),
            ("pdf/build/pdf.worker.js", PageFile.script),
        ]
        let folder = "/usr/share/javascript/"
        return Dictionary(uniqueKeysWithValues: (others + fonts).map { ("/page/\($0)", (folder + $0, $1)) })
    }()

    /// - Returns: `nil` for other paths, and if the package is not installed.
    /// - Throws: Foundation's error if the file exists and cannot be read.
    static func file(at path: String) throws -> PageFile? {
        guard let (file, type) = files[path], FileManager.default.fileExists(atPath: file) else { return nil }
        return PageFile(type, Array(try Data(contentsOf: URL(fileURLWithPath: file))))
    }
}
