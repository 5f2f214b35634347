/// A JSON pointer into the document: keys, and indices as text.
struct Pointer: Hashable, Sendable {
    var tokens: [[UInt8]] = []

    func appending(_ key: String) -> Pointer { Pointer(tokens: tokens + [Array(key.utf8)]) }
    func appending(_ key: [UInt8]) -> Pointer { Pointer(tokens: tokens + [key]) }
    func appending(_ index: Int) -> Pointer { appending(String(index)) }

    /// The pointer as a URI fragment: `#/properties/a~1b/not`.
    var text: String {
        tokens.reduce("#") { path, token in
            let text = String(decoding: token, as: UTF8.self)
            return path + "/" + String(text.flatMap { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) })
        }
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

    init(_ document: SchemaJSON, _ draft: Draft) {
        self.document = document
        self.draft = draft
        resources[""] = Pointer()
        walk(document, Pointer(), base: "")
    }

    private mutating func walk(_ schema: SchemaJSON, _ pointer: Pointer, base outer: String) {
        var base = outer
        defer { if outer != rootBase || base != rootBase { bases[pointer] = base } }
        guard case .object(let members) = schema else { return }
        let hidesSiblings = draft.hidesSiblingsOfReferences && members["$ref"] != nil
        if case .string(let bytes)? = members[draft.identifier], !hidesSiblings {
            let id = String(decoding: bytes, as: UTF8.self)
            let parts = URIReference(id)
            if id.hasPrefix("#") {
                if draft.hasPlainAnchorsInID {
                    anchors[base, default: [:]][String(id.dropFirst())] = pointer
                }
            } else {
                base = URIReference.resolve(id, against: base)
                if resources[base] == nil || pointer.tokens.isEmpty { resources[base] = pointer }
                if let fragment = parts.fragment, !fragment.isEmpty, draft.hasPlainAnchorsInID {
                    anchors[base, default: [:]][String(fragment)] = pointer
                }
            }
        }
        if pointer.tokens.isEmpty { rootBase = base }
        if draft.hasAnchors {
            if case .string(let name)? = members["$anchor"] {
                anchors[base, default: [:]][String(decoding: name, as: UTF8.self)] = pointer
            }
            if case .string(let bytes)? = members["$dynamicAnchor"] {
                let name = String(decoding: bytes, as: UTF8.self)
                anchors[base, default: [:]][name] = pointer
                dynamicAnchors[base, default: [:]][name] = pointer
            }
        }
        for (child, at) in Self.children(of: members, pointer) { walk(child, at, base: base) }
    }

    /// The direct subschemas of a schema.
    private static func children(of members: SchemaJSON.Members, _ pointer: Pointer) -> [(SchemaJSON, Pointer)] {
        var result: [(SchemaJSON, Pointer)] = []
        for (key, value) in members.list {
            let name = String(decoding: key, as: UTF8.self)
            switch value {
            case .object(let inner) where Keywords.mapsOfSchemas.contains(name):
                for entry in inner.list { result.append((entry.value, pointer.appending(key).appending(entry.key))) }
            case .array(let items) where Keywords.listsOfSchemas.contains(name):
                for (index, item) in items.enumerated() {
                    result.append((item, pointer.appending(key).appending(index)))
                }
            case .object where Keywords.schemas.contains(name), .bool where Keywords.schemas.contains(name):
                result.append((value, pointer.appending(key)))
            default: break
            }
        }
        return result
    }

    /// The URI of the resource that contains a place, even if no keyword makes the place a schema.
    func base(at pointer: Pointer) -> String {
        if bases.isEmpty { return rootBase }
        var pointer = pointer
        while !pointer.tokens.isEmpty {
            if let base = bases[pointer] { return base }
            pointer.tokens.removeLast()
        }
        return rootBase
    }

    func value(at pointer: Pointer) -> SchemaJSON? { Self.value(in: document, pointer.tokens[...]) }

    private static func value(in value: SchemaJSON, _ tokens: ArraySlice<[UInt8]>) -> SchemaJSON? {
        var value = value
        for token in tokens {
            switch value {
            case .object(let members):
                guard let next = members[token] else { return nil }
                value = next
            case .array(let items):
                guard let index = Int(String(decoding: token, as: UTF8.self)), items.indices.contains(index) else {
                    return nil
                }
                value = items[index]
            default: return nil
            }
        }
        return value
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
            }
            return value(at: pointer) == nil ? nil : .place(pointer)
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

    var identifier: String { self == .draft4 ? "id" : "$id" }
    /// Whether keywords beside `$ref` are ignored.
    var hidesSiblingsOfReferences: Bool { self != .draft2020 }
    var hasPlainAnchorsInID: Bool { self != .draft2020 }
    var hasAnchors: Bool { self == .draft2020 }

    /// The draft from `$schema`, else inferred from the keywords in use.
    /// - Returns: `nil` for an unknown dialect.
    init?(_ document: SchemaJSON) {
        guard case .object(let members) = document else {
            self = .draft2020
            return
        }
        guard case .string(let bytes)? = members["$schema"] else {
            self.init(guessedFrom: document)
            return
        }
        var uri = String(decoding: bytes, as: UTF8.self)
        while uri.hasSuffix("#") || uri.hasSuffix("/") { uri.removeLast() }
        uri = uri.split(separator: "//", maxSplits: 1).last.map(String.init) ?? uri
        switch uri {
        case "json-schema.org/draft-03/schema", "json-schema.org/draft-04/schema": self = .draft4
        case "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema": self = .draft7
        case "json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema": self = .draft2020
        case "json-schema.org/schema", "": self.init(guessedFrom: document)
        default: return nil
        }
    }

    /// The draft whose keywords the document uses.
    init(guessedFrom document: SchemaJSON) {
        var (isOld, isNew, is4, isSince6) = (false, false, false, false)
        if case .object(let members) = document, case .string? = members["id"] { is4 = true }
        var pending = [document]
        while let value = pending.popLast() {
            guard case .object(let members) = value else { continue }
            for (key, value) in members.list {
                let name = String(decoding: key, as: UTF8.self)
                if Keywords.since2019.contains(name) { isNew = true }
                if Keywords.until2019.contains(name) { isOld = true }
                if Keywords.since6.contains(name) { isSince6 = true }
                if Keywords.flagsIn4.contains(name), case .bool = value { is4 = true }
                switch value {
                case .object(let inner):
                    pending += Keywords.mapsOfSchemas.contains(name) ? inner.list.map(\.value) : []
                    if Keywords.schemas.contains(name) { pending.append(value) }
                case .array(let items) where Keywords.listsOfSchemas.contains(name):
                    if name == "items" { isOld = true }
                    pending += items
                default: break
                }
            }
        }
        self = isNew ? .draft2020 : is4 && !isSince6 ? .draft4 : isOld ? .draft7 : .draft2020
    }
}

enum Keywords {
    static let mapsOfSchemas: Set<String> = [
        "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies",
    ]
    static let listsOfSchemas: Set<String> = ["allOf", "anyOf", "oneOf", "items", "prefixItems"]
    static let schemas: Set<String> = [
        "not", "if", "then", "else", "items", "additionalItems", "contains", "additionalProperties", "propertyNames",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema",
    ]
    static let since2019: Set<String> = [
        "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor", "prefixItems", "dependentSchemas", "dependentRequired",
        "unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains",
    ]
    static let until2019: Set<String> = ["definitions", "dependencies", "additionalItems"]
    static let since6: Set<String> = ["$id", "const", "contains", "propertyNames", "if"]
    static let flagsIn4: Set<String> = ["exclusiveMinimum", "exclusiveMaximum"]

    /// The keywords to drop if one cannot be enforced: it, and those that would allow less without it.
    static func droppedWith(_ keyword: String) -> Set<String> {
        let evaluations: Set<String> = [keyword, "unevaluatedProperties", "unevaluatedItems"]
        return switch keyword {
        case "properties", "patternProperties": evaluations.union(["additionalProperties"])
        case "prefixItems", "items": evaluations.union(["items", "additionalItems"])
        case "minContains": evaluations.union(["contains"])
        case "if", "then", "else": evaluations.union(["if"])
        default: evaluations
        }
    }
}
