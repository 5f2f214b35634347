/// Types of JSON values. A number is `integer` or `fraction` by its value: 1.0 is an integer.
struct TypeSet: OptionSet, Hashable, Sendable {
    let rawValue: UInt8
    static let null = TypeSet(rawValue: 1)
    static let boolean = TypeSet(rawValue: 2)
    static let integer = TypeSet(rawValue: 4)
    static let fraction = TypeSet(rawValue: 8)
    static let string = TypeSet(rawValue: 16)
    static let array = TypeSet(rawValue: 32)
    static let object = TypeSet(rawValue: 64)
    static let number: TypeSet = [.integer, .fraction]
    static let all = TypeSet(rawValue: 127)
}

/// A compiled schema: its own keywords, and the schemas that it applies to the same value.
///
/// Nodes refer to each other by their index in `SchemaPlan.nodes`.
struct SchemaNode: Sendable {
    typealias ID = Int32

    /// A keyword that applies schemas to the same value.
    enum Applicator: Sendable {
        case all([ID])
        case any([ID])
        case one([ID])
        case not(ID)
        case conditional(if: ID, then: ID?, else: ID?)
        /// `dependentSchemas`: the schema applies if the property is present.
        case dependent(name: [UInt8], ID)
    }

    struct Enumeration: Sendable {
        var null = false
        var isTrue = false
        var isFalse = false
        var numbers: Set<Decimal> = []
        /// Index in `SchemaPlan.atoms`.
        var strings: Int?
    }

    struct Strings: Sendable {
        /// Indices in `SchemaPlan.atoms`; all must match.
        var atoms: [Int] = []
        var minimum = 0
        var maximum = Int.max
        var isFree: Bool { atoms.isEmpty && minimum == 0 && maximum == .max }
    }

    struct Bound: Sendable {
        var value: Decimal
        var isExclusive: Bool
    }

    struct Numbers: Sendable {
        var lower: [Bound] = []
        var upper: [Bound] = []
        var multiples: [Decimal] = []
        var isFree: Bool { lower.isEmpty && upper.isEmpty && multiples.isEmpty }
    }

    struct Objects: Sendable {
        var properties: [(name: [UInt8], schema: ID)] = []
        /// Index of the pattern in `SchemaPlan.atoms`.
        var patterns: [(atom: Int, schema: ID)] = []
        var additional: ID?
        var names: ID?
        var required: [[UInt8]] = []
        var dependentRequired: [(name: [UInt8], required: [[UInt8]])] = []
        var minimum = 0
        var maximum = Int.max
        var unevaluated: ID?
        var isFree: Bool {
            properties.isEmpty && patterns.isEmpty && additional == nil && names == nil && required.isEmpty
                && dependentRequired.isEmpty && minimum == 0 && maximum == .max && unevaluated == nil
        }
    }

    struct Arrays: Sendable {
        var prefix: [ID] = []
        var items: ID?
        var contains: ID?
        var minimumContained = 1
        var maximumContained = Int.max
        /// Whether items that match `contains` count as evaluated (since 2020-12).
        var containsEvaluates = true
        var isUnique = false
        var minimum = 0
        var maximum = Int.max
        var unevaluated: ID?
        var isFree: Bool {
            prefix.isEmpty && items == nil && contains == nil && !isUnique && minimum == 0 && maximum == .max
                && unevaluated == nil
        }
    }

    /// Where the schema is in the document.
    var pointer = Pointer()
    /// The same as text, for messages.
    var path: String { pointer.text }
    /// Empty for the schema `false`.
    var types: TypeSet = .all
    var enumeration: Enumeration?
    var strings = Strings()
    var numbers = Numbers()
    var objects = Objects()
    var arrays = Arrays()
    var applicators: [Applicator] = []

    /// Units of work to check a value's own keywords: see `WorkMeter`.
    var weight: Int { 1 + (numbers.lower.count + numbers.upper.count + objects.patterns.count) / 32 }

    /// Whether every value is valid.
    var isFree: Bool {
        types == .all && enumeration == nil && strings.isFree && numbers.isFree && objects.isFree && arrays.isFree
            && applicators.isEmpty
    }
}

/// A language of strings.
enum StringAtom: Sendable {
    case pattern(RegexTerms.ID)
    case members(StringSet)
}

/// A language of strings in a compiled schema.
enum SchemaAtom: Sendable {
    case text(StringAtom)
    /// A pattern of `Formats`. It is read when a text needs it: that takes longer than to compile a tool's schema without it.
    case format(String)
}

/// A schema document, compiled.
struct SchemaPlan: Sendable {
    var nodes: [SchemaNode] = []
    var atoms: [SchemaAtom] = []
    var terms: RegexTerms
    var root: SchemaNode.ID = 0
    /// Keywords that are not enforced, with path and reason; at most `maximumNotes`.
    var unenforced: [String] = []

    static let maximumNotes = 16

    /// Allows every value, every object if the document asks for one.
    static func anything(likeRootOf document: SchemaJSON, unenforced: [String]) -> SchemaPlan {
        var root = SchemaNode()
        if case .object(let members) = document, case .string(let type)? = members[.type],
            type.elementsEqual("object".utf8)
        {
            root.types = .object
        }
        return SchemaPlan(nodes: [root], terms: RegexTerms(), unenforced: unenforced)
    }
}

/// A set of strings as a trie of their bytes.
struct StringSet: Sendable {
    private struct Node: Sendable {
        var first: Int32 = -1  // first child
        var sibling: Int32 = -1
        var member: Int32 = -1
        /// The smallest and the largest member that begins with this node's bytes.
        var low: Int32 = .max
        var high: Int32 = -1
        var byte: UInt8
    }
    private var nodes = [Node(byte: 0)]
    private(set) var count = 0

    /// Duplicates keep the first index.
    init(_ members: [[UInt8]]) {
        for (index, member) in members.enumerated() {
            var node: Int32 = 0
            for byte in member {
                if let child = child(of: node, byte) {
                    node = child
                } else {
                    nodes.append(Node(sibling: nodes[Int(node)].first, byte: byte))
                    nodes[Int(node)].first = Int32(nodes.count - 1)
                    node = Int32(nodes.count - 1)
                }
            }
            if nodes[Int(node)].member < 0 { nodes[Int(node)].member = Int32(index) }
        }
        count = members.count
        // Children follow their parents.
        for node in nodes.indices.reversed() {
            let own = nodes[node].member
            var (low, high) = (own < 0 ? Int32.max : own, own)
            var child = nodes[node].first
            while child >= 0 {
                low = min(low, nodes[Int(child)].low)
                high = max(high, nodes[Int(child)].high)
                child = nodes[Int(child)].sibling
            }
            (nodes[node].low, nodes[node].high) = (low, high)
        }
    }

    /// Whether a member of this range may begin with the node's bytes: exact where such members are consecutive.
    func hasMember(in range: ClosedRange<Int32>, below node: Int32) -> Bool {
        nodes[Int(node)].low <= range.upperBound && nodes[Int(node)].high >= range.lowerBound
    }

    static let root: Int32 = 0

    func child(of node: Int32, _ byte: UInt8) -> Int32? {
        guard node >= 0 else { return nil }
        var index = nodes[Int(node)].first
        while index >= 0 {
            if nodes[Int(index)].byte == byte { return index }
            index = nodes[Int(index)].sibling
        }
        return nil
    }

    func children(of node: Int32) -> [(byte: UInt8, node: Int32)] {
        guard node >= 0 else { return [] }
        var result: [(byte: UInt8, node: Int32)] = []
        var index = nodes[Int(node)].first
        while index >= 0 {
            result.append((nodes[Int(index)].byte, index))
            index = nodes[Int(index)].sibling
        }
        return result
    }

    /// Index of the string that ends at the node; -1: none.
    func member(at node: Int32) -> Int32 { node < 0 ? -1 : nodes[Int(node)].member }

    func index(of text: some Sequence<UInt8>) -> Int? {
        var node = Self.root
        for byte in text {
            guard let child = child(of: node, byte) else { return nil }
            node = child
        }
        let member = member(at: node)
        return member < 0 ? nil : Int(member)
    }
}
