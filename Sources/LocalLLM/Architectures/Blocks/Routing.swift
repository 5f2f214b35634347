import Foundation

/// Which experts the rows of a step go to: the best few of each row's router logits, and the rows of each expert together.
///
/// One for all layers of a network: what it holds is the last step that it routed. An expert's rows are places side by side,
/// experts ascending and their rows ascending, so that the rows of answers come first among an expert's, too.
final class Routing {
    /// Experts of a layer.
    let count: Int
    /// Experts of a row.
    let used: Int
    /// From a router's logits to scores.
    enum Gating: Sendable {
        case softmax, sigmoid
        /// Logits choose, and the weights are the softmax of the chosen ones.
        case softmaxOfChosen
        /// √ln(1 + eˣ)
        case rootOfSoftplus
    }

    private let gating: Gating
    /// Whether a row's weights are made to sum to 1.
    private let normalizes: Bool
    private let scale: Float
    /// Experts lie in groups of the same size, of which the best are chosen first: those whose best two have the most together.
    private let groups: Int
    private let usedGroups: Int
    /// Whether weights multiply what experts read.
    let weighsInputs: Bool

    /// `[rows][used]`, a row's experts ascending.
    private var experts: [Int32] = []
    private var weights: [Float] = []
    private var places: [Int32] = []
    /// What experts are chosen by, `[rows][count]`, where that is not their scores.
    private var selection: [Float] = []
    /// The row at each place.
    private var rowAtPlace: [Int32] = []
    /// The first place of each expert, and the end.
    private var starts: [Int]
    /// The next free place of each, while they are given away.
    private var next: [Int]

    /// `weights` by place.
    private var weightAtPlace: [Float] = []

    init(
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
    ///   - selectionBias: Added to the scores for the choice of experts, but not to their weights.
    func route(_ logits: Matrix, selectionBias: [Float]? = nil, on compute: Compute) {
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
                        var selected = scores
                        if needsSelection {
                            selected = selection.baseAddress! + row * count
                            for expert in 0..<count {
                                selected[expert] = scores[expert] + (selectionBias?[expert] ?? 0)
                            }
                            if groups > 1 { keepBestGroups(selected) }
                        }
                        choose(
                            scores, by: selected, experts.baseAddress! + row * used, weights.baseAddress! + row * used)
                    }
                }
            }
        }
        gather(total)
    }

    /// Routes a step to the groups of the experts that `other` has chosen, with the scores of the experts whose numbers are the groups'.
    ///
    /// - Parameter scores: Of `other`'s experts, `[rows, other.count]`.
    func route(toGroupsOf other: Routing, size: Int, scores: Matrix, on compute: Compute) {
        let total = scores.rows * used
        reserve(total)
        for row in 0..<scores.rows {
            var sum: Float = 0
            for index in row * used..<(row + 1) * used {
                experts[index] = other.experts[index] / Int32(size)
                weights[index] = scores[row][Int(experts[index])]
                sum += weights[index]
            }
            for index in row * used..<(row + 1) * used { weights[index] *= scale / max(sum, 6.103_515_6e-5) }
        }
        gather(total)
    }

    /// Makes room for so many places.
    private func reserve(_ total: Int) {
        guard experts.count < total else { return }
        experts = Array(repeating: 0, count: total)
        weights = Array(repeating: 0, count: total)
        places = Array(repeating: 0, count: total)
        rowAtPlace = Array(repeating: 0, count: total)
        weightAtPlace = Array(repeating: 0, count: total)
    }

    /// Turns a row's logits into scores.
    private func score(_ row: UnsafeMutablePointer<Float>) {
        switch gating {
        case .softmaxOfChosen: break
        case .sigmoid: for expert in 0..<count { row[expert] = 1 / (1 + exp(-row[expert])) }
        case .rootOfSoftplus:
            for expert in 0..<count {
                row[expert] = (row[expert] > 20 ? row[expert] : log1p(exp(row[expert]))).squareRoot()
            }
        case .softmax:
            var largest = -Float.infinity
            for expert in 0..<count { largest = max(largest, row[expert]) }
            var sum: Float = 0
            for expert in 0..<count {
                row[expert] = exp(row[expert] - largest)
                sum += row[expert]
            }
            for expert in 0..<count { row[expert] /= sum }
        }
    }

    /// Puts experts of groups that are not chosen out of the question.
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
        // Of equals the first; the order is total, whatever the scores are.
        let order = totals.indices.sorted { totals[$0] > totals[$1] || (!(totals[$1] > totals[$0]) && $0 < $1) }
        for group in order.dropFirst(usedGroups) {
            for expert in group * size..<(group + 1) * size { row[expert] = -.infinity }
        }
    }

    /// The best experts of a row, of equals the first, and their weights.
    private func choose(
        _ scores: UnsafePointer<Float>, by selected: UnsafePointer<Float>, _ experts: UnsafeMutablePointer<Int32>,
        _ weights: UnsafeMutablePointer<Float>
    ) {
        // The best so far, descending; what they are chosen by is where the weights will be.
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
        var sum: Float = 0
        let largest = scores[Int(experts[0])]
        for place in 0..<used {
            let score = scores[Int(experts[place])]
            weights[place] = gating == .softmaxOfChosen ? exp(score - largest) : score
            sum += weights[place]
        }
        // No smaller than the least that a half can be: sigmoids may all be 0.
        let divisor = gating == .softmaxOfChosen ? sum : normalizes ? max(sum, 6.103_515_6e-5) : 1
        for place in 0..<used { weights[place] *= scale / divisor }
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

    /// Gives each row its places, expert by expert.
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

    // MARK: What was routed

    /// Experts that are computed at once, and the places of those of them that have rows.
    struct Pass {
        fileprivate let experts: Range<Int>
        let places: Range<Int>
    }

    /// Calls `body` with as many experts at a time as have no more than `limit` places together, at least one that has.
    func forEachPass(limit: Int, _ body: (Pass) -> Void) {
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

    /// The experts of a pass that have rows, ascending.
    func experts(of pass: Pass) -> some Sequence<Int> {
        pass.experts.lazy.filter { [self] in !places(of: $0).isEmpty }
    }

    func places(of expert: Int) -> Range<Int> { starts[expert]..<starts[expert + 1] }

    func row(at place: Int) -> Int { Int(rowAtPlace[place]) }

    func weight(at place: Int) -> Float { weightAtPlace[place] }

    /// How many of an expert's rows are before `row` of the step.
    func rows(of expert: Int, before row: Int) -> Int {
        places(of: expert).prefix { rowAtPlace[$0] < row }.count
    }

    /// Adds the outputs of a pass, `[places, width]`, weighted, each row's in the order of its experts.
    func add(_ outputs: Matrix, of pass: Pass, to residual: Matrix, on compute: Compute) {
        compute.forEachRow(of: residual) { row in
            for index in row * used..<(row + 1) * used where pass.places.contains(Int(places[index])) {
                compute.add(
                    outputs[Int(places[index]) - pass.places.lowerBound], times: weighsInputs ? 1 : weights[index],
                    to: residual[row],
                    count: residual.columns)
            }
        }
    }
}
