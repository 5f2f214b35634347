import Foundation

/// The name of one part of a split model, `name-00001-of-00003.gguf`, as llama.cpp's `gguf-split` writes it.
package struct SplitName: Equatable {
    /// The name before `-00001-of-…`.
    package let stem: String
    /// Number of the part, counted from 1.
    package let part: Int
    package let count: Int

    /// `nil` if the name does not have this form.
    package init?(_ fileName: String) {
        guard let match = fileName.wholeMatch(of: /(.+)-([0-9]{5})-of-([0-9]{5})\.gguf/),
            let part = Int(match.2), let count = Int(match.3), count > 0, (1...count).contains(part)
        else { return nil }
        stem = String(match.1)
        self.part = part
        self.count = count
    }

    /// The names of all parts, in order.
    package var all: [String] { (1...count).map { String(format: "%@-%05d-of-%05d.gguf", stem, $0, count) } }
}
