public import Constraint

/// A constraint on the generated text.
public struct GenerationConstraint: Sendable, Equatable {
    /// A graph of constraints that were compiled by the generating model's `LocalModel.constraint(_:)`.
    public var shape: ConstraintGraph
    /// What errors call the constraint, such as the field of a request.
    public var name: String?

    /// - Parameters:
    ///   - constraint: Compiled by `LocalModel.constraint(_:)` of the model that generates.
    ///   - start: The text is free up to and including this, such as the end of the model's reasoning, and constrained
    ///     after it. `nil`: the whole text is constrained.
    ///   - isRequired: Whether the text must not end before `start`.
    public init(_ constraint: Constraint, after start: String? = nil, isRequired: Bool = true) {
        shape = ConstraintGraph(constraint, after: start, isRequired: isRequired)
    }

    public init(_ shape: ConstraintGraph) { self.shape = shape }

    /// Compares identity: equal only if both use the same graph instance.
    public static func == (one: Self, other: Self) -> Bool { one.shape === other.shape }
}
