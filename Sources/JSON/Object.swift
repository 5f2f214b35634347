extension JSON {
    /// Members in order, each name once. Names are compared as bytes.
    public struct Object: Sendable {
        public typealias Member = (name: String, value: JSON)

        public private(set) var members: [Member] = []
        /// Positions by name; empty while there are few members, which are compared faster than hashed.
        private var index: [Name: Int] = [:]
        private static let few = 16

        public init() {}

        /// - Parameter members: Of members with the same name the last one counts.
        public init(_ members: some Sequence<Member>) {
            self.members.reserveCapacity(members.underestimatedCount)
            for (name, value) in members { self[name] = value }
        }

        public var isEmpty: Bool { members.isEmpty }
        public var count: Int { members.count }

        /// Setting `nil` removes the member.
        public subscript(_ name: String) -> JSON? {
            get { position(of: name).map { members[$0].value } }
            set {
                guard let value = newValue else { return removeAll { haveSameBytes($0.name, name) } }
                if !append(name, value), let position = position(of: name) { members[position].value = value }
            }
        }

        /// Adds a member behind the others.
        ///
        /// - Returns: Whether there was none of this name yet. If there was, nothing changes.
        @discardableResult
        mutating func append(_ name: String, _ value: JSON) -> Bool {
            guard position(of: name) == nil else { return false }
            members.append((name, value))
            if members.count == Self.few {
                for (position, member) in members.enumerated() { index[Name(member.name)] = position }
            } else if members.count > Self.few {
                index[Name(name)] = members.count - 1
            }
            return true
        }

        public mutating func removeAll(where isUnwanted: (Member) throws -> Bool) rethrows {
            let rest = try members.filter { try !isUnwanted($0) }
            if rest.count < members.count { self = Object(rest) }
        }

        private func position(of name: String) -> Int? {
            index.isEmpty ? members.firstIndex { haveSameBytes($0.name, name) } : index[Name(name)]
        }
    }

    /// A name that is compared and hashed as bytes.
    private struct Name: Hashable, Sendable {
        let text: String

        init(_ text: String) { self.text = text }

        static func == (one: Self, other: Self) -> Bool { haveSameBytes(one.text, other.text) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

/// The order of members does not count.
extension JSON.Object: Equatable {
    public static func == (one: Self, other: Self) -> Bool {
        one.count == other.count && one.members.allSatisfy { other[$0.name] == $0.value }
    }
}

extension JSON.Object: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSON)...) {
        self.init(members.map { (name: $0.0, value: $0.1) })
    }
}

extension JSON.Object: Codable {
    public init(from decoder: any Decoder) throws {
        let value = try JSON(from: decoder)
        guard case .object(let object) = value else {
            let message = "expected an object, found \(value.kind)"
            throw DecodingError.typeMismatch(
                Self.self, .init(codingPath: decoder.codingPath, debugDescription: message))
        }
        self = object
    }

    public func encode(to encoder: any Encoder) throws { try JSON.object(self).encode(to: encoder) }
}
