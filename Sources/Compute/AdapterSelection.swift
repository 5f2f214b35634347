package import GGUF

/// The adapters that apply to a sequence.
package struct AdapterSelection: Hashable, Sendable {
    package struct Use: Hashable, Sendable {
        package let adapter: LoRAAdapter
        package let scale: Float
        /// Position of the first token that it applies to.
        package let start: Int

        package static func == (a: Use, b: Use) -> Bool {
            a.adapter === b.adapter && a.scale == b.scale && a.start == b.start
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(adapter))
            hasher.combine(scale)
            hasher.combine(start)
        }
    }

    package static let none = AdapterSelection(uses: [])

    package let uses: [Use]

    private init(uses: [Use]) { self.uses = uses }

    /// - Parameters:
    ///   - scales: Scale of each adapter; 0: off.
    ///   - prompt: Searched for invocation tokens: an adapter that has some applies from their last occurrence on, or
    ///     not at all.
    package init(_ adapters: [LoRAAdapter], scales: [Float], prompt: [Int32]) {
        uses = zip(adapters, scales).compactMap { adapter, scale in
            guard scale != 0, let start = prompt.start(ofLast: adapter.invocation) else { return nil }
            return Use(adapter: adapter, scale: scale, start: start)
        }
    }
}

extension [Int32] {
    /// Index of the last occurrence of a run of tokens; 0 for an empty run.
    fileprivate func start(ofLast run: [Int32]) -> Int? {
        guard !run.isEmpty else { return 0 }
        guard run.count <= count else { return nil }
        return stride(from: count - run.count, through: 0, by: -1).first {
            self[$0..<$0 + run.count].elementsEqual(run)
        }
    }
}

/// Rows of a step that an adapter applies to.
package struct AdapterRows {
    package let adapter: LoRAAdapter
    package let scale: Float
    package var rows: RangeSet<Int>

    package init(adapter: LoRAAdapter, scale: Float, rows: RangeSet<Int>) {
        (self.adapter, self.scale, self.rows) = (adapter, scale, rows)
    }

}
