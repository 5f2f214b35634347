public import Constraint

extension LocalModel {
    /// Compiles a constraint for this model's vocabulary, or returns it from a cache of recent ones. A constraint may
    /// serve any number of generations at once.
    ///
    /// The first call takes about 100 ms for a vocabulary of 128,000 tokens, later ones about a millisecond, on the
    /// caller's thread.
    ///
    /// - Throws: `ConstraintError`, which names the keyword and its path; `LocalModelError.noTokenizer`.
    public func constraint(_ source: Constraint.Source) throws -> Constraint {
        try constraint(source, in: markup)
    }

    /// Combines constraints of this model into a graph.
    ///
    /// - Throws: `ConstraintError` of kind `budget`; `LocalModelError.noTokenizer`.
    public func constraint(_ shape: ConstraintGraph.Shape) throws -> ConstraintGraph {
        try constraint(shape, in: markup)
    }

    /// - Parameter markup: That of the answers: its control tokens count as their text.
    package func constraint(_ source: Constraint.Source, in markup: ChatMarkup) throws -> Constraint {
        try constraints.constraint(source, try tokenizer, markers: markup.markerTokens)
    }

    package func constraint(_ shape: ConstraintGraph.Shape, in markup: ChatMarkup) throws -> ConstraintGraph {
        try ConstraintGraph(
            shape, vocabulary: constraints.vocabulary(of: try tokenizer, markers: markup.markerTokens))
    }

    func check(_ constraint: GenerationConstraint?) throws(LocalModelError) {
        guard let shape = constraint?.shape else { return }
        guard constraints.isOurs(shape.vocabulary) else {
            throw .invalidOption("constraint: expected one compiled by this model, found another model's")
        }
        guard shape.isSatisfiable else { throw .invalidOption("constraint: no text satisfies it") }
    }
}
