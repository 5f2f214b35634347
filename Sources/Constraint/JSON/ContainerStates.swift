/// What counts of the part of an object that is written.
struct ObjectState: Hashable {
    var position: Int32
    /// Schemas of the closure that some property or name violates.
    var failed = Bits()
    var seen = Bits()
    /// Number of the last name in the order, -1 at the begin; their number after a property of another name.
    var last: Int32 = -1
    /// Properties, up to the largest count that makes a difference.
    var count: Int32 = 0
    var open: [Unevaluated] = []
}

/// What counts of the part of an array that is written.
struct ArrayState: Hashable {
    var position: Int32
    var failed = Bits()
    /// Items, up to the largest index that makes a difference.
    var count: Int32 = 0
    /// Items that match `contains`, for each schema of the closure that has it.
    var contained: [Int32] = []
    var open: [Unevaluated] = []
    /// Items in canonical form, as numbers; only where they have to differ.
    var items: [Int32] = []
}

/// A property or item that `unevaluatedProperties` or `unevaluatedItems` of a schema refuses, unless one of others that
/// evaluate it turns out to be satisfied.
struct Unevaluated: Hashable {
    var local: Int32
    var evaluators: Bits
}

/// What a property's name means for the schemas of its object.
struct KeyOutcome: Hashable {
    /// Index in the closure's names, -1 for another one.
    var name: Int32 = -1
    /// Places in the closure's patterns of those that match.
    var patterns = Bits()
    /// Places in the closure's `propertyNames` of those that refuse it.
    var refusals = Bits()
}

/// Which schemas apply to a property or an item, and on whose behalf.
final class Part {
    struct Conditional {
        let local: Int
        /// `nil` if the schema admits everything.
        let slot: Int?
        /// Schemas of the closure that evaluate the part themselves.
        let evaluators: Bits
    }

    var slots: [SchemaNode.ID] = []
    /// By place in the closure: the slots that have to be satisfied.
    var required: [Int: [Int]] = [:]
    /// By place in the closure: the slot of `contains`, -1 if it admits everything.
    var contains: [Int: Int] = [:]
    var conditional: [Conditional] = []
    /// Schemas that the name itself violates.
    var refused = Bits()

    func slot(_ node: SchemaNode.ID) -> Int {
        if let known = slots.firstIndex(of: node) { return known }
        slots.append(node)
        return slots.count - 1
    }
}

/// A value within its container: what is to be known when it ends.
struct Child {
    var position: Int32
    var part: Part?
    /// Of properties: what the name meant.
    var outcome: KeyOutcome?
}

/// A container on the stack. Frames are hash-consed, so a whole stack is one number.
struct Frame: Hashable {
    var parent: Int32
    /// The child of the parent that this container is.
    var child: Int32
    var isArray: Bool
    var state: Int32
    /// Where the item that is being written begins in the text, if items have to differ; -1 otherwise.
    var itemStart: Int32 = -1
}
