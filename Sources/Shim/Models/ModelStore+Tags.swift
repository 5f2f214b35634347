import Foundation

extension ModelStore {
    /// The id of the model that a name in Ollama's form means; `nil` if there is none.
    ///
    /// Such names are `NAME`, `NAME:TAG` or `hf.co/OWNER/NAME-GGUF:TAG`; without a tag, it is `latest`. Any other tag belongs
    /// to the file's name, as a rule its quantization. Letters' case and punctuation do not matter.
    func id(ofTagged name: String) -> String? {
        has(name) ? name : find(tagged: TaggedName(name))?.file.id
    }

    func find(tagged name: TaggedName) -> ServedModel? {
        if name.tag == nil, let model = find(name.base) { return model }
        let models = models
        if let model = models.first(where: { TaggedName.key($0.file.id) == name.key }) { return model }
        guard name.tag == nil else { return nil }
        let quantized = models.filter { TaggedName.key($0.file.id, withoutQuantizationOf: name.key) }
        let preferred = quantized.first { TaggedName.key($0.file.id).hasSuffix("q4-k-m") }
        return quantized.count == 1 ? quantized[0] : preferred
    }
}

/// A name in Ollama's form, in parts.
struct TaggedName {
    /// Without the host, the owner and the tag.
    let base: String
    /// `nil`: `latest`.
    let tag: String?

    init(_ name: String) {
        var rest = name[...]
        if let host = ["hf.co/", "huggingface.co/"].first(where: { name.lowercased().hasPrefix($0) }) {
            rest = rest.dropFirst(host.count)
            if let slash = rest.firstIndex(of: "/") { rest = rest[rest.index(after: slash)...] }
        }
        var tag: Substring?
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("/") {
            tag = rest[rest.index(after: colon)...]
            rest = rest[..<colon]
        }
        if rest.lowercased().hasSuffix("-gguf") { rest = rest.dropLast(5) }
        base = String(rest)
        self.tag = tag.flatMap { $0.isEmpty || $0.lowercased() == "latest" ? nil : String($0) }
    }

    /// The key of the file's name that the name means.
    var key: String { Self.key(base + (tag.map { "-\($0)" } ?? "")) }

    /// The name in lower case, with one mark in place of all punctuation.
    static func key(_ name: String) -> String {
        String(name.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" })
    }

    /// Whether a file's name is a key followed by a quantization.
    static func key(_ id: String, withoutQuantizationOf key: String) -> Bool {
        let whole = Self.key(id)
        guard whole.hasPrefix(key + "-") else { return false }
        return whole.dropFirst(key.count + 1).wholeMatch(of: /(ud-)?(i?q|t?q|b?f|fp|mxfp)[0-9][a-z0-9-]*/) != nil
    }
}
