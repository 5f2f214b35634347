import Platform

/// The assignment of a step's rows to experts: the best few of each row's router logits, and the rows of each expert.
///
/// One instance serves all layers of a network: it holds the last step that it routed. Each pair of a row and an expert
/// has a place; places are sorted by expert, then by row, so that an expert's decode rows come before its prefill rows.
package final class Routing {
    /// Experts per layer.
    package let count: Int
    /// Experts per row.
    package let used: Int
    /// Function from router logits to scores.
    package enum Gating: Sendable {
        case softmax, sigmoid
        /// The highest logits are selected; the weights are their softmax.
        case softmaxOfChosen
        /// √ln(1 + eˣ)
        case rootOfSoftplus
        /// SparseMixer (Liu et al. 2024): the highest logits are selected one after the other. The weight of each is its
        /// share of a softmax over those logits, of the experts not selected before, that are at most 2 % lower.
        case sparseMixer
    }

    private let gating: Gating
    /// Whether a row's weights are normalized to sum to 1.
    private let normalizes: Bool
    private let scale: Float
    /// Experts form groups of equal size. The groups with the largest sum of their two best scores are selected first.
    private let groups: Int
    private let usedGroups: Int
    /// Whether weights multiply the experts' inputs.
    package let weighsInputs: Bool

    /// `[rows][used]`, each row's experts in ascending order.
    private var experts: [Int32] = []
    private var weights: [Float] = []
    private var places: [Int32] = []
    /// Scores for selection, `[rows][count]`, if they differ from the weights' scores.
    private var selection: [Float] = []
    /// Row of each place.
    private var rowAtPlace: [Int32] = []
    /// First place of each expert, then the total.
    private var starts: [Int]
    /// Next free place of each expert, while places are assigned.
    private var next: [Int]

    /// `weights` by place.
    private var weightAtPlace: [Float] = []

    package init(
        count: Int, used: Int, gating: Gating = .softmax, normalizes: Bool, scale: Float, groups: Int = 1,
        usedGroups: Int = 1, weighsInputs: Bool = false
    ) {
        self.count = count
        self.used = used
        self.gating = gating
        self.normalizes = normalizes
        self.scale = scale
        self.groups = groups
        self.usedGroups = usedGroups
        self.weighsInputs = weighsInputs
        starts = Array(repeating: 0, count: count + 1)
        next = Array(repeating: 0, count: count)
    }

    /// Routes a step.
    ///
    /// - Parameters:
    ///   - logits: `[rows, count]`. Overwritten by scores.
    ///   - selectionBias: Added to the scores for selection, but not to the weights.
    ///   - fixed: The experts of a row, `[used]`; `nil`: the best are selected.
    package func route(
        _ logits: Matrix, selectionBias: [Float]? = nil, fixed: ((_ row: Int) -> ArraySlice<Int32>)? = nil,
        on compute: Compute
    ) {
        let total = logits.rows * used
        reserve(total)
        let needsSelection = selectionBias != nil || groups > 1
        if needsSelection, selection.count < logits.rows * count {
            selection = Array(repeating: 0, count: logits.rows * count)
        }
        experts.withUnsafeMutableBufferPointer { experts in
            weights.withUnsafeMutableBufferPointer { weights in
                selection.withUnsafeMutableBufferPointer { selection in
                    compute.forEachRow(of: logits) { row in
                        let scores = logits[row]
                        score(scores)
                        let chosen = experts.baseAddress! + row * used
                        if let fixed {
                            for (place, expert) in fixed(row).enumerated() { chosen[place] = expert }
                            return weigh(scores, chosen, weights.baseAddress! + row * used)
                        }
                        var selected = scores
                        if needsSelection {
                            selected = selection.baseAddress! + row * count
                            for expert in 0..<count {
                                selected[expert] = scores[expert] + (selectionBias?[expert] ?? 0)
                            }
                            if groups > 1 { keepBestGroups(selected) }
                        }
                        choose(by: selected, chosen, weights.baseAddress! + row * used)
                        if gating == .sparseMixer {
                            return weighOneByOne(scores, chosen, weights.baseAddress! + row * used)
                        }
                        weigh(scores, chosen, weights.baseAddress! + row * used)
                    }
                }
            }
        }
        gather(total)
    }

    /// Routes a step to the groups of the experts that `other` selected. A group has the sum of its experts' weights. If a row
    /// has fewer groups than `used`, the first others fill its places, with weight 0.
    package func route(toGroupsOf other: Routing, size: Int, rows: Int) {
        reserve(rows * used)
        for row in 0..<rows {
            let places = row * used..<(row + 1) * used
            var end = places.lowerBound
            func add(_ group: Int32, _ weight: Float) {
                if let place = experts[places.lowerBound..<end].firstIndex(of: group) {
                    weights[place] += weight
                } else if end < places.upperBound {
                    (experts[end], weights[end]) = (group, weight)
                    end += 1
                }
            }
            for place in places { add(other.experts[place] / Int32(size), other.weights[place]) }
            for group in 0..<count { add(Int32(group), 0) }
            experts.withUnsafeMutableBufferPointer { experts in
                weights.withUnsafeMutableBufferPointer { weights in
                    sort(experts.baseAddress! + places.lowerBound, weights.baseAddress! + places.lowerBound)
                }
            }
        }
        gather(rows * used)
    }

    /// Reserves memory for `total` places.
    private func reserve(_ total: Int) {
        guard experts.count < total else { return }
        experts = Array(repeating: 0, count: total)
        weights = Array(repeating: 0, count: total)
        places = Array(repeating: 0, count: total)
        rowAtPlace = Array(repeating: 0, count: total)
        weightAtPlace = Array(repeating: 0, count: total)
    }

    /// Converts a row's logits to scores in place.
    private func score(_ row: UnsafeMutablePointer<Float>) {
        switch gating {
        case .softmaxOfChosen, .sparseMixer: break
        case .sigmoid: for expert in 0..<count { row[expert] = 1 / (1 + expf(-row[expert])) }
        case .rootOfSoftplus:
            for expert in 0..<count {
                row[expert] = (row[expert] > 20 ? row[expert] : log1pf(expf(row[expert]))).squareRoot()
            }
        case .softmax:
            var largest = -Float.infinity
            for expert in 0..<count { largest = max(largest, row[expert]) }
            var sum: Float = 0
            for expert in 0..<count {
                row[expert] = expf(row[expert] - largest)
                sum += row[expert]
            }
            for expert in 0..<count { row[expert] /= sum }
        }
    }

    /// Excludes experts of groups that are not selected.
    private func keepBestGroups(_ row: UnsafeMutablePointer<Float>) {
        let size = count / groups
        func best(_ group: Int) -> Float {
            var (first, second) = (-Float.infinity, -Float.infinity)
            for expert in group * size..<(group + 1) * size {
                if row[expert] > first {
                    (first, second) = (row[expert], first)
                } else if row[expert] > second {
                    second = row[expert]
                }
            }
            return size > 1 ? first + second : first
        }
        let totals = (0..<groups).map(best)
        // Ties by index.
        let order = totals.indices.sorted { totals[$0] > totals[$1] || (!(totals[$1] > totals[$0]) && $0 < $1) }
        for group in order.dropFirst(usedGroups) {
            for expert in group * size..<(group + 1) * size { row[expert] = -.infinity }
        }
    }

    /// Selects the best experts of a row, descending, ties by index. `weights` receives their selection scores.
    private func choose(
        by selected: UnsafePointer<Float>, _ experts: UnsafeMutablePointer<Int32>,
        _ weights: UnsafeMutablePointer<Float>
    ) {
        var found = 0
        for expert in 0..<count where found < used || selected[expert] > weights[used - 1] {
            var place = min(found, used - 1)
            while place > 0, selected[expert] > weights[place - 1] {
                (experts[place], weights[place]) = (experts[place - 1], weights[place - 1])
                place -= 1
            }
            (experts[place], weights[place]) = (Int32(expert), selected[expert])
            found = min(found + 1, used)
        }
    }

    /// Computes the weights of a row's experts, and sorts both by expert.
    private func weigh(
        _ scores: UnsafePointer<Float>, _ experts: UnsafeMutablePointer<Int32>, _ weights: UnsafeMutablePointer<Float>
    ) {
        var sum: Float = 0
        var largest = -Float.infinity
        for place in 0..<used { largest = max(largest, scores[Int(experts[place])]) }
        for place in 0..<used {
            let score = scores[Int(experts[place])]
            weights[place] = gating == .softmaxOfChosen ? expf(score - largest) : score
            sum += weights[place]
        }
        // At least the smallest normal half-precision number: sigmoids may all be 0.
        let divisor = gating == .softmaxOfChosen ? sum : normalizes ? max(sum, 6.103_515_6e-5) : 1
        for place in 0..<used { weights[place] *= scale / divisor }
        sort(experts, weights)
    }

    /// As `weigh`, for SparseMixer. `experts` are in the order of their selection.
    private func weighOneByOne(
        _ logits: UnsafePointer<Float>, _ experts: UnsafeMutablePointer<Int32>, _ weights: UnsafeMutablePointer<Float>
    ) {
        for place in 0..<used {
            let largest = logits[Int(experts[place])]
            var sum: Float = 0
            for expert in 0..<count {
                let isLeft = !(0..<place).contains { experts[$0] == Int32(expert) }
                let distance = (largest - logits[expert]) / max(abs(logits[expert]), largest)
                // Not a number, for two zeros, is near.
                if isLeft, !(distance > 0.02) { sum += expf(logits[expert] - largest) }
            }
            weights[place] = scale / sum
        }
        sort(experts, weights)
    }

    private func sort(_ experts: UnsafeMutablePointer<Int32>, _ weights: UnsafeMutablePointer<Float>) {
        for end in 1..<max(1, used) {
            let (expert, weight) = (experts[end], weights[end])
            var place = end
            while place > 0, experts[place - 1] > expert {
                (experts[place], weights[place]) = (experts[place - 1], weights[place - 1])
                place -= 1
            }
            (experts[place], weights[place]) = (expert, weight)
        }
    }

    /// Assigns places to rows, expert by expert.
    private func gather(_ total: Int) {
        for expert in 0...count { starts[expert] = 0 }
        for index in 0..<total { starts[Int(experts[index]) + 1] += 1 }
        for expert in 0..<count {
            starts[expert + 1] += starts[expert]
            next[expert] = starts[expert]
        }
        for index in 0..<total {
            let expert = Int(experts[index])
            places[index] = Int32(next[expert])
            rowAtPlace[next[expert]] = Int32(index / used)
            weightAtPlace[next[expert]] = weights[index]
            next[expert] += 1
        }
    }

    // MARK: Result

    /// A range of experts to compute at once, with the places of those that have rows.
    package struct Pass {
        fileprivate let experts: Range<Int>
        package let places: Range<Int>
    }

    /// Calls `body` with as many experts at a time as have at most `limit` places together, but at least one.
    package func forEachPass(limit: Int, _ body: (Pass) -> Void) {
        var first = 0
        while first < count {
            var end = first + 1
            if !places(of: first).isEmpty {
                while end < count, starts[end + 1] - starts[first] <= limit { end += 1 }
                body(Pass(experts: first..<end, places: starts[first]..<starts[end]))
            }
            first = end
        }
    }

    /// The experts of a pass with rows, ascending.
    package func experts(of pass: Pass) -> some Sequence<Int> {
        pass.experts.lazy.filter { [self] in !places(of: $0).isEmpty }
    }

    package func places(of expert: Int) -> Range<Int> { starts[expert]..<starts[expert + 1] }

    package func row(at place: Int) -> Int { Int(rowAtPlace[place]) }

    /// How many of an expert's rows precede `row` of the step.
    package func rows(of expert: Int, before row: Int) -> Int {
        places(of: expert).prefix { rowAtPlace[$0] < row }.count
    }

    /// Copies the rows of `input` that belong to a pass's places, weighted if weights multiply inputs: `[places, width]`.
    package func gather(_ input: Matrix, of pass: Pass, into rows: Matrix, on compute: Compute) {
        compute.forEachRow(of: rows) { place in
            let index = pass.places.lowerBound + place
            rows[place].update(from: input[Int(rowAtPlace[index])], count: input.columns)
            guard weighsInputs else { return }
            let weight = weightAtPlace[index]
            for column in 0..<input.columns { rows[place][column] *= weight }
        }
    }

    /// Adds the weighted outputs of a pass, `[places, width]`, to their rows, in the order of each row's experts.
    package func add(_ outputs: Matrix, of pass: Pass, to residual: Matrix, on compute: Compute) {
        compute.forEachRow(of: residual) { row in
            for index in row * used..<(row + 1) * used where pass.places.contains(Int(places[index])) {
                compute.kernels.rows.addMultiple(
                    residual[row], outputs[Int(places[index]) - pass.places.lowerBound],
                    weighsInputs ? 1 : weights[index], residual.columns)
            }
        }
    }
}
