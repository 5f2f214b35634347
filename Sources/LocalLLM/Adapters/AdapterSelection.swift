/// The adapters of a sequence.
struct AdapterSelection: Hashable, Sendable {
    struct Use: Hashable, Sendable {
        let adapter: LoRAAdapter
        let scale: Float
        /// Position of the first token that it acts on.
        let start: Int

        static func == (a: Use, b: Use) -> Bool {
            a.adapter === b.adapter && a.scale == b.scale && a.start == b.start
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(adapter))
            hasher.combine(scale)
            hasher.combine(start)
        }
    }

    static let none = AdapterSelection(uses: [])

    let uses: [Use]

    private init(uses: [Use]) { self.uses = uses }

    /// - Parameters:
    ///   - scales: Of each adapter; 0 leaves it out.
    ///   - prompt: One with invocation tokens acts from the last place on where the prompt has them, if it has.
    init(_ adapters: [LoRAAdapter], scales: [Float], prompt: [Int32]) {
        uses = zip(adapters, scales).compactMap { adapter, scale in
            guard scale != 0, let start = prompt.start(ofLast: adapter.invocation) else { return nil }
            return Use(adapter: adapter, scale: scale, start: start)
        }
    }
}

extension [Int32] {
    /// Where a run of tokens begins for the last time; 0 for an empty run.
    fileprivate func start(ofLast run: [Int32]) -> Int? {
        guard !run.isEmpty else { return 0 }
        guard run.count <= count else { return nil }
        return stride(from: count - run.count, through: 0, by: -1).first {
            self[$0..<$0 + run.count].elementsEqual(run)
        }
    }
}

/// Rows of a step that an adapter acts on.
struct AdapterRows {
    let adapter: LoRAAdapter
    let scale: Float
    /// Ascending.
    var rows: [Int]
}
