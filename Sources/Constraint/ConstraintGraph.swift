/// Constraints and literals combined by sequence, alternatives and repetition, for text that no single grammar or
/// schema describes, such as a tool call.
///
/// A `GraphMatcher` follows one text.
public final class ConstraintGraph: Sendable {
    /// A composition of constraints and literals.
    public indirect enum Shape: Sendable {
        case literal(String)
        /// Free text without any marker, then a marker, then the shape that belongs to it.
        ///
        /// - mayEnd: Whether the text may end before a marker.
        case search([(marker: Marker, then: Shape)], mayEnd: Bool)
        case constraint(Constraint)
        /// A constraint whose texts are JSON objects: nothing may follow the last brace, which saves work.
        case object(Constraint)
        case sequence([Shape])
        case anyOf([Shape])
        case optional(Shape)
        /// One or more times.
        case repeated(Shape)

        /// The empty text.
        public static let nothing = Shape.sequence([])

        /// Free text up to and including `text`.
        public static func until(_ text: String, mayEnd: Bool = false) -> Shape {
            text.isEmpty ? .nothing : .search([(Marker(text), .nothing)], mayEnd: mayEnd)
        }
    }

    /// A text to find in free text.
    public struct Marker: Sendable {
        let bytes: [UInt8]
        /// Whether only white space may precede it.
        let isFirst: Bool
        /// For each number of matched bytes, the longest shorter prefix of the marker that the match ends with (Knuth,
        /// Morris and Pratt 1977).
        private let shorter: [Int]

        /// - Parameter text: At least one character.
        public init(_ text: String, isFirst: Bool = false) {
            bytes = Array(text.utf8)
            self.isFirst = isFirst
            var shorter = [0, 0]
            for index in bytes.indices.dropFirst() {
                var length = shorter[index]
                while length > 0, bytes[length] != bytes[index] { length = shorter[length] }
                shorter.append(bytes[length] == bytes[index] ? length + 1 : 0)
            }
            self.shorter = shorter
        }

        /// The number of matched bytes after one more byte; -1 if the marker can no longer occur.
        ///
        /// - Parameter matched: Matched bytes before it, fewer than all.
        func step(_ matched: Int, _ byte: UInt8) -> Int {
            guard matched >= 0, !bytes.isEmpty else { return -1 }
            if isFirst {
                if bytes[matched] == byte { return matched + 1 }
                return matched == 0 && [0x20, 0x09, 0x0a, 0x0d].contains(byte) ? 0 : -1
            }
            var length = matched
            while length > 0, bytes[length] != byte { length = shorter[length] }
            return bytes[length] == byte ? length + 1 : 0
        }
    }

    struct Node: Sendable {
        enum Part: Sendable {
            case literal([UInt8])
            /// Each marker with the nodes that follow it.
            case search([(marker: Marker, exits: [Int])], mayEnd: Bool)
            case constraint(Constraint, isObject: Bool)
        }

        let part: Part
        /// Nodes that may follow; for a search, after any marker.
        var next: [Int] = []
        /// Whether the text may end after this node.
        var isLast = false
    }

    /// The vocabulary of all constraints in the graph.
    public let vocabulary: TokenVocabulary
    /// False if a constraint in the graph cannot be satisfied.
    public let isSatisfiable: Bool
    let nodes: [Node]
    let first: [Int]
    let isNullable: Bool

    static let maximumEdges = 1_000_000

    /// - Parameter vocabulary: The vocabulary of all constraints in the shape.
    /// - Throws: `ConstraintError` of kind `budget` if the shape has too many parts.
    public init(_ shape: Shape, vocabulary: TokenVocabulary) throws(ConstraintError) {
        var builder = GraphBuilder()
        let ends = try builder.add(shape)
        for node in ends.last { builder.nodes[node].isLast = true }
        self.vocabulary = vocabulary
        nodes = builder.nodes
        first = ends.first
        isNullable = ends.isNullable
        isSatisfiable = builder.isSatisfiable
    }

    /// A single constraint.
    ///
    /// - Parameters:
    ///   - start: The text is free up to and including this; `nil`: the constraint applies from the beginning.
    ///   - isRequired: Whether the text must not end before `start`.
    public init(_ constraint: Constraint, after start: String? = nil, isRequired: Bool = true) {
        vocabulary = constraint.vocabulary
        var nodes = [Node(part: .constraint(constraint, isObject: false), isLast: true)]
        if let start, !start.isEmpty {
            let search = Node.Part.search([(Marker(start), [0])], mayEnd: !isRequired)
            nodes.append(Node(part: search))
        }
        self.nodes = nodes
        first = [nodes.count - 1]
        isNullable = false
        isSatisfiable = constraint.isSatisfiable
    }

    /// The constraint, if the graph consists of one only.
    public var only: Constraint? {
        guard nodes.count == 1, nodes[0].next.isEmpty, case .constraint(let constraint, _) = nodes[0].part else {
            return nil
        }
        return constraint
    }

    /// A matcher at the beginning of a text.
    public func matcher() -> GraphMatcher { GraphMatcher(self) }
}

/// Builds the nodes of a shape: one per part, with the nodes that may follow it (Glushkov 1961).
private struct GraphBuilder {
    struct Ends {
        var first: [Int]
        var last: [Int]
        var isNullable: Bool
    }

    var nodes: [ConstraintGraph.Node] = []
    var isSatisfiable = true
    private var edges = 0

    mutating func add(_ shape: ConstraintGraph.Shape) throws(ConstraintError) -> Ends {
        switch shape {
        case .literal(let text):
            return text.isEmpty ? Ends(first: [], last: [], isNullable: true) : node(.literal(Array(text.utf8)))
        case .search(let markers, let mayEnd):
            var exits: [(marker: ConstraintGraph.Marker, exits: [Int])] = []
            var (last, hasOpenEnd) = ([Int](), false)
            for (marker, shape) in markers where !marker.bytes.isEmpty {
                let ends = try add(shape)
                exits.append((marker, ends.first))
                last += ends.last
                hasOpenEnd = hasOpenEnd || ends.isNullable
            }
            var ends = node(.search(exits, mayEnd: mayEnd))
            ends.last = last + (hasOpenEnd ? ends.last : [])
            return ends
        case .constraint(let constraint):
            if !constraint.isSatisfiable { isSatisfiable = false }
            return node(.constraint(constraint, isObject: false))
        case .object(let constraint):
            if !constraint.isSatisfiable { isSatisfiable = false }
            return node(.constraint(constraint, isObject: true))
        case .sequence(let parts):
            var whole = Ends(first: [], last: [], isNullable: true)
            for part in parts { try append(try add(part), to: &whole) }
            return whole
        case .anyOf(let parts): return try alternatives(parts.map(Alternative.init), depth: 0)
        case .optional(let part):
            var ends = try add(part)
            ends.isNullable = true
            return ends
        case .repeated(let part):
            let ends = try add(part)
            try link(ends.last, ends.first)
            return ends
        }
    }

    private mutating func append(_ ends: Ends, to whole: inout Ends) throws(ConstraintError) {
        try link(whole.last, ends.first)
        if whole.isNullable { whole.first += ends.first }
        whole.last = ends.isNullable ? whole.last + ends.last : ends.last
        whole.isNullable = whole.isNullable && ends.isNullable
    }

    // MARK: Alternatives

    /// One of several shapes: a literal, and what follows it.
    private struct Alternative {
        var literal: ArraySlice<UInt8>
        var rest: [ConstraintGraph.Shape]

        init(_ shape: ConstraintGraph.Shape) {
            switch shape {
            case .literal(let text): (literal, rest) = (Array(text.utf8)[...], [])
            case .sequence(let parts):
                var text: [UInt8] = []
                let rest = parts.drop { part in
                    guard case .literal(let next) = part else { return false }
                    text += next.utf8
                    return true
                }
                (literal, self.rest) = (text[...], Array(rest))
            default: (literal, rest) = ([], [shape])
            }
        }
    }

    /// Maximum nesting of shared beginnings.
    private static let maximumDepth = 64

    /// Literals that begin alike share their common beginning: a thousand names of tools are then read by one thread, not
    /// by one each.
    private mutating func alternatives(_ list: [Alternative], depth: Int) throws(ConstraintError) -> Ends {
        var whole = Ends(first: [], last: [], isNullable: list.isEmpty)
        func add(_ ends: Ends) {
            whole.first += ends.first
            whole.last += ends.last
            whole.isNullable = whole.isNullable || ends.isNullable
        }
        var groups: [[Alternative]] = []
        var places: [UInt8: Int] = [:]
        for alternative in list {
            guard let first = alternative.literal.first else {
                add(try self.add(.sequence(alternative.rest)))
                continue
            }
            if depth < Self.maximumDepth, let place = places[first] {
                groups[place].append(alternative)
            } else {
                places[first] = groups.count
                groups.append([alternative])
            }
        }
        for group in groups {
            var common = group[0].literal
            for other in group.dropFirst() {
                common = common.prefix(zip(common, other.literal).prefix { $0 == $1 }.count)
            }
            var ends = node(.literal(Array(common)))
            if group.count == 1 {
                try append(try self.add(.sequence(group[0].rest)), to: &ends)
            } else {
                let rests = group.map { alternative in
                    var rest = alternative
                    rest.literal = rest.literal.dropFirst(common.count)
                    return rest
                }
                try append(try alternatives(rests, depth: depth + 1), to: &ends)
            }
            add(ends)
        }
        return whole
    }

    private mutating func node(_ part: ConstraintGraph.Node.Part) -> Ends {
        nodes.append(.init(part: part))
        return Ends(first: [nodes.count - 1], last: [nodes.count - 1], isNullable: false)
    }

    private mutating func link(_ last: [Int], _ first: [Int]) throws(ConstraintError) {
        edges += last.count * first.count
        guard edges <= ConstraintGraph.maximumEdges else {
            throw ConstraintError(.budget, "", "the shape has too many parts that may follow each other")
        }
        for node in last { nodes[node].next += first }
    }
}
