public import Constraint

/// A shape that a generated text must have.
public struct GenerationConstraint: Sendable, Equatable {
    /// Made of constraints from `LocalModel.constraint(_:)` of the model that generates.
    public var shape: ConstraintGraph

    /// - Parameters:
    ///   - constraint: From `LocalModel.constraint(_:)` of the model that generates.
    ///   - start: The text is free until it contains this, such as the end of a model's thoughts; what follows has the shape.
    ///     `nil`: the whole text has it.
    ///   - isRequired: Whether the model must not end the text before `start` came.
    public init(_ constraint: Constraint, after start: String? = nil, isRequired: Bool = true) {
        shape = ConstraintGraph(constraint, after: start, isRequired: isRequired)
    }

    public init(_ shape: ConstraintGraph) { self.shape = shape }

    /// Equal where they have the same shape, not only an equal one.
    public static func == (one: Self, other: Self) -> Bool { one.shape === other.shape }
}
