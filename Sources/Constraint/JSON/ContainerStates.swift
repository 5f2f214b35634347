/// The relevant facts on the part of an object read so far.
struct ObjectState: Hashable {
    var position: Int32
    /// Schemas of the closure that are violated by a property or name.
    var failed = Bits()
    var seen = Bits()
    /// Index of the last known name; -1 at the beginning; the number of names after a property with another name.
    var last: Int32 = -1
    /// Number of properties, capped at the largest count that makes a difference.
    var count: Int32 = 0
    var open: [Unevaluated] = []
}

/// The relevant facts on the part of an array read so far.
struct ArrayState: Hashable {
    var position: Int32
    var failed = Bits()
    /// Number of items, capped at the largest index that makes a difference.
    var count: Int32 = 0
    /// Number of items that match `contains`, for each schema of the closure that has it.
    var contained: [Int32] = []
    var open: [Unevaluated] = []
    /// Canonical forms of the items, as numbers; only if items must be unique.
    var items: [Int32] = []
}

/// A property or item that `unevaluatedProperties` or `unevaluatedItems` of a schema rejects, unless a schema that
/// evaluates it turns out to be satisfied.
struct Unevaluated: Hashable {
    var local: Int32
    var evaluators: Bits
}

/// The effect of a property's name on the schemas of its object.
struct KeyOutcome: Hashable {
    /// Index in the closure's names; -1 for other names.
    var name: Int32 = -1
    /// Indices in the closure's patterns of those that match.
    var patterns = Bits()
    /// Indices in the closure's `propertyNames` of those that reject it.
    var refusals = Bits()
}

/// The schemas that apply to a property or an item, with the schemas that apply them.
final class Member {
    struct Conditional {
        let local: Int
        /// `nil`: the schema accepts everything.
        let slot: Int?
        /// Schemas of the closure that evaluate the member unconditionally.
        let evaluators: Bits
    }

    var slots: [SchemaNode.ID] = []
    /// By index in the closure: the slots that must be satisfied.
    var required: [Int: [Int]] = [:]
    /// By index in the closure: the slot of `contains`; -1 if it accepts everything.
    var contains: [Int: Int] = [:]
    var conditional: [Conditional] = []
    /// Schemas that the name violates.
    var refused = Bits()

    func slot(_ node: SchemaNode.ID) -> Int {
        if let known = slots.firstIndex(of: node) { return known }
        slots.append(node)
        return slots.count - 1
    }
}

/// A value in its container, with the data needed when it ends.
struct Child {
    var position: Int32
    var member: Member?
    /// The effect of the name, for properties.
    var outcome: KeyOutcome?
}

/// A container on the stack. Frames are hash-consed, so that a whole stack is one number.
struct Frame: Hashable {
    var parent: Int32
    /// This container as a child of its parent.
    var child: Int32
    var isArray: Bool
    var state: Int32
    /// Offset in the text of the current item, if items must be unique; -1 otherwise.
    var itemStart: Int32 = -1
}
