/// Python's `textwrap` with white space preserved: fills lines greedily with words and the blanks between.
struct TextWrapper {
    let width: Int
    let breaksWords: Bool
    let breaksHyphens: Bool

    func wrap(_ line: String) -> [String] {
        var chunks = Array(chunks(of: Array(line.unicodeScalars)).reversed())
        var lines: [String] = []
        while !chunks.isEmpty {
            if isBlank(chunks[chunks.count - 1]), !lines.isEmpty { chunks.removeLast() }
            var current: [ArraySlice<Unicode.Scalar>] = []
            var length = 0
            while let chunk = chunks.last, length + chunk.count <= width {
                current.append(chunks.removeLast())
                length += chunk.count
            }
            if let chunk = chunks.last, chunk.count > width {
                let room = max(width - length, 1)
                if breaksWords {
                    current.append(chunk.prefix(room))
                    chunks[chunks.count - 1] = chunk.dropFirst(room)
                } else if current.isEmpty {
                    current.append(chunks.removeLast())
                }
            }
            if let last = current.last, isBlank(last) { current.removeLast() }
            if !current.isEmpty { lines.append(String(Array(current.joined()))) }
        }
        return lines
    }

    /// Whether a chunk is white space. Its first character decides, since chunks are not mixed.
    private func isBlank(_ chunk: ArraySlice<Unicode.Scalar>) -> Bool { chunk.first.map(isSpace) ?? true }
    private func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.isASCII && scalar.isPythonSpace }

    private func chunks(of line: [Unicode.Scalar]) -> [ArraySlice<Unicode.Scalar>] {
        var chunks: [ArraySlice<Unicode.Scalar>] = []
        var start = 0
        for index in line.indices.dropFirst()
        where isSpace(line[index - 1]) != isSpace(line[index]) || isBreak(line, before: index) {
            chunks.append(line[start..<index])
            start = index
        }
        if start < line.count { chunks.append(line[start...]) }
        return chunks
    }

    /// Whether a line may break after a hyphen: between letters, with at least two before it and one after it.
    private func isBreak(_ line: [Unicode.Scalar], before index: Int) -> Bool {
        guard breaksHyphens, index >= 3, line[index - 1] == "-" else { return false }
        return line[index].isPythonAlpha && line[index - 2].isPythonAlpha && line[index - 3].isPythonAlpha
    }
}
