/// A JSON pointer into the document: keys, and indices as text.
///
/// A pointer shares its beginning with the one that it was appended to, and is hashed once: a key of megabytes costs no more
/// for the thousands of places below it.
struct Pointer: Hashable, Sendable {
    private final class Step: Sendable {
        let parent: Step?
        let token: [UInt8]
        let hash: Int

        init(_ parent: Step?, _ token: [UInt8]) {
            (self.parent, self.token) = (parent, token)
            var hasher = Hasher()
            hasher.combine(parent?.hash)
            hasher.combine(token)
            hash = hasher.finalize()
        }
    }

    /// The last key; `nil` for the document itself.
    private var last: Step?

    init() {}

    private init(_ last: Step?) { self.last = last }

    /// Where a schema is in the value of a keyword.
    enum Position {
        case itself
        case key([UInt8])
        case index(Int)
    }

    func appending(_ keyword: Keyword) -> Pointer { appending(Array(keyword.rawValue.utf8)) }
    func appending(_ key: [UInt8]) -> Pointer { Pointer(Step(last, key)) }
    func appending(_ place: Position) -> Pointer {
        switch place {
        case .itself: self
        case .key(let key): appending(key)
        case .index(let index): appending(Array(String(index).utf8))
        }
    }

    var isEmpty: Bool { last == nil }
    /// The pointer without its last key, and that key.
    var split: (parent: Pointer, token: [UInt8])? { last.map { (Pointer($0.parent), $0.token) } }

    static func == (one: Self, other: Self) -> Bool {
        var (a, b) = (one.last, other.last)
        while a !== b {
            guard let x = a, let y = b, x.hash == y.hash, x.token == y.token else { return false }
            (a, b) = (x.parent, y.parent)
        }
        return true
    }

    func hash(into hasher: inout Hasher) { hasher.combine(last?.hash) }

    /// Maximum bytes of a key in `text`.
    private static let longestKey = 200

    /// The pointer as a URI fragment, for messages: `#/properties/a~1b/not`. Long keys are cut.
    var text: String {
        var keys: [String] = []
        var step = last
        while let current = step {
            let text = String(decoding: current.token.prefix(Self.longestKey), as: UTF8.self)
            keys.append(String(text.flatMap { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }))
            step = current.parent
        }
        return (["#"] + keys.reversed()).joined(separator: "/")
    }
}

/// Locations of the document's resources (`$id`) and anchors.
struct SchemaIndex {
    /// Pointer of each resource by its URI without fragment; the document itself also has the empty URI.
    private(set) var resources: [String: Pointer] = [:]
    /// By resource URI, then by name.
    private(set) var anchors: [String: [String: Pointer]] = [:]
    private(set) var dynamicAnchors: [String: [String: Pointer]] = [:]
    /// URI of the document's outermost resource.
    private var rootBase = ""
    /// URIs of the resources that contain the places of other resources, and of those below them.
    private var bases: [Pointer: String] = [:]
    let document: SchemaJSON
    let draft: Draft

    init(_ document: SchemaJSON, _ draft: Draft, _ survey: SchemaSurvey) {
        self.document = document
        self.draft = draft
        resources[""] = Pointer()
        if survey.hasIdentifiers { walk(document, Pointer(), base: "") }
    }

    private mutating func walk(_ schema: SchemaJSON, _ pointer: Pointer, base outer: String) {
        var base = outer
        defer { if outer != rootBase || base != rootBase { bases[pointer] = base } }
        guard case .object(let members) = schema else { return }
        let hidesSiblings = draft.hidesSiblingsOfReferences && members[.ref] != nil
        if case .string(let bytes)? = members[draft.identifier], !hidesSiblings {
            let id = String(decoding: bytes, as: UTF8.self)
            let parts = URIReference(id)
            if id.hasPrefix("#") {
                if draft.hasPlainAnchorsInID {
                    anchors[base, default: [:]][String(id.dropFirst())] = pointer
                }
            } else {
                base = URIReference.resolve(id, against: base)
                if resources[base] == nil || pointer.isEmpty { resources[base] = pointer }
                if let fragment = parts.fragment, !fragment.isEmpty, draft.hasPlainAnchorsInID {
                    anchors[base, default: [:]][String(fragment)] = pointer
                }
            }
        }
        if pointer.isEmpty { rootBase = base }
        if draft.hasAnchors {
            if case .string(let name)? = members[.anchor] {
                anchors[base, default: [:]][String(decoding: name, as: UTF8.self)] = pointer
            }
            if case .string(let bytes)? = members[.dynamicAnchor] {
                let name = String(decoding: bytes, as: UTF8.self)
                anchors[base, default: [:]][name] = pointer
                dynamicAnchors[base, default: [:]][name] = pointer
            }
        }
        for member in members.list {
            guard let keyword = member.keyword else { continue }
            SchemaJSON.forEachSchema(of: keyword, member.value) { child, place in
                walk(child, pointer.appending(keyword).appending(place), base: base)
            }
        }
    }

    /// The URI of the resource that contains a place, even if no keyword makes the place a schema.
    func base(at pointer: Pointer) -> String {
        if bases.isEmpty { return rootBase }
        var pointer = pointer
        while let (parent, _) = pointer.split {
            if let base = bases[pointer] { return base }
            pointer = parent
        }
        return rootBase
    }

    /// Values by place: each is found from the one that contains it, so that the keys of its path are not compared again.
    private final class Values {
        var known: [Pointer: SchemaJSON] = [:]
    }
    private let values = Values()

    func value(at pointer: Pointer) -> SchemaJSON? {
        var (missing, at) = ([(pointer: Pointer, token: [UInt8])](), pointer)
        var value = values.known[at]
        while value == nil, let (parent, token) = at.split {
            missing.append((at, token))
            at = parent
            value = values.known[at]
        }
        var current = value ?? document
        for (pointer, token) in missing.reversed() {
            guard let next = Self.member(of: current, token) else { return nil }
            values.known[pointer] = next
            current = next
        }
        return current
    }

    private static func member(of value: SchemaJSON, _ token: [UInt8]) -> SchemaJSON? {
        switch value {
        case .object(let members): return members[token]
        case .array(let items):
            guard let index = Int(String(decoding: token, as: UTF8.self)), items.indices.contains(index) else {
                return nil
            }
            return items[index]
        default: return nil
        }
    }

    enum Target {
        case place(Pointer)
        /// An anchor to be looked up again in the dynamic scope by `$dynamicRef`.
        case dynamic(Pointer, name: String)
    }

    /// - Returns: `nil` if the target is outside of the document or does not exist.
    func resolve(_ reference: String, base: String) -> Target? {
        let uri = URIReference.resolve(reference, against: base)
        guard let resource = resources[uri] else { return nil }
        guard let fragment = URIReference(reference).fragment, !fragment.isEmpty else { return .place(resource) }
        if fragment.hasPrefix("/") {
            var pointer = resource
            for part in fragment.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
                guard let bytes = URIReference.decode(part) else { return nil }
                pointer = pointer.appending(Self.unescape(bytes))
                // At once, so that a pointer is never deeper than the document.
                guard value(at: pointer) != nil else { return nil }
            }
            return .place(pointer)
        }
        guard let bytes = URIReference.decode(fragment) else { return nil }
        let name = String(decoding: bytes, as: UTF8.self)
        // A resource without its own URI is found by the empty one and by the root's.
        let names = uri.isEmpty ? [uri, self.base(at: Pointer())] : [uri]
        for uri in names {
            if let place = dynamicAnchors[uri]?[name] { return .dynamic(place, name: name) }
            if let place = anchors[uri]?[name] { return .place(place) }
        }
        return nil
    }

    private static func unescape(_ token: [UInt8]) -> [UInt8] {
        guard token.contains(UInt8(ascii: "~")) else { return token }
        var (result, rest) = ([UInt8](), token[...])
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "~"), let code = rest.first, code == 48 || code == 49 {
                rest.removeFirst()
                result.append(code == 48 ? UInt8(ascii: "~") : UInt8(ascii: "/"))
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

/// The draft, with its differences.
enum Draft: Sendable {
    case draft4, draft7, draft2020

    var identifier: Keyword { self == .draft4 ? .idOfDraft4 : .id }
    /// Whether keywords beside `$ref` are ignored.
    var hidesSiblingsOfReferences: Bool { self != .draft2020 }
    var hasPlainAnchorsInID: Bool { self != .draft2020 }
    var hasAnchors: Bool { self == .draft2020 }

    /// The draft from `$schema`, else inferred from the keywords in use.
    /// - Returns: `nil` for an unknown dialect.
    init?(_ document: SchemaJSON, _ survey: SchemaSurvey) {
        guard case .object(let members) = document else {
            self = .draft2020
            return
        }
        guard case .string(let bytes)? = members[.schema] else {
            self.init(guessedFrom: survey)
            return
        }
        var uri = String(decoding: bytes, as: UTF8.self)
        while uri.hasSuffix("#") || uri.hasSuffix("/") { uri.removeLast() }
        uri = uri.split(separator: "//", maxSplits: 1).last.map(String.init) ?? uri
        switch uri {
        case "json-schema.org/draft-03/schema", "json-schema.org/draft-04/schema": self = .draft4
        case "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema": self = .draft7
        case "json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema": self = .draft2020
        case "json-schema.org/schema", "": self.init(guessedFrom: survey)
        default: return nil
        }
    }

    /// The draft whose keywords the document uses.
    init(guessedFrom survey: SchemaSurvey) {
        let is4 = survey.hasFormsOf4 && !survey.hasKeywordsSince6
        self =
            survey.hasKeywordsSince2019
            ? .draft2020 : is4 ? .draft4 : survey.hasKeywordsUntil2019 ? .draft7 : .draft2020
    }
}
