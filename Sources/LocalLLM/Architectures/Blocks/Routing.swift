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
    /// Whether a row's weights are made to sum to 1, instead of what all experts' softmax gives the chosen ones.
    private let normalizes: Bool
    private let scale: Float

    /// `[rows][used]`, a row's experts ascending.
    private var experts: [Int32] = []
    private var weights: [Float] = []
    private var places: [Int32] = []
    /// The row at each place.
    private var rowAtPlace: [Int32] = []
    /// The first place of each expert, and the end.
    private var starts: [Int]
    /// The next free place of each, while they are given away.
    private var next: [Int]

    init(count: Int, used: Int, normalizes: Bool, scale: Float) {
        self.count = count
        self.used = used
        self.normalizes = normalizes
        self.scale = scale
        starts = Array(repeating: 0, count: count + 1)
        next = Array(repeating: 0, count: count)
    }

    /// Routes a step.
    ///
    /// - Parameter logits: `[rows, count]`.
    func route(_ logits: Matrix, on compute: Compute) {
        let total = logits.rows * used
        if experts.count < total {
            experts = Array(repeating: 0, count: total)
            weights = Array(repeating: 0, count: total)
            places = Array(repeating: 0, count: total)
            rowAtPlace = Array(repeating: 0, count: total)
        }
        experts.withUnsafeMutableBufferPointer { experts in
            weights.withUnsafeMutableBufferPointer { weights in
                let (experts, weights) = (experts.baseAddress!, weights.baseAddress!)
                compute.forEachRow(of: logits) { row in
                    choose(logits[row], experts + row * used, weights + row * used)
                }
            }
        }
        gather(total)
    }

    /// The best experts of a row, of equals the first, and their weights.
    private func choose(
        _ logits: UnsafePointer<Float>, _ experts: UnsafeMutablePointer<Int32>, _ weights: UnsafeMutablePointer<Float>
    ) {
        // The best so far, descending; their logits are where the weights will be.
        var found = 0
        for expert in 0..<count where found < used || logits[expert] > weights[used - 1] {
            var place = min(found, used - 1)
            while place > 0, logits[expert] > weights[place - 1] {
                (experts[place], weights[place]) = (experts[place - 1], weights[place - 1])
                place -= 1
            }
            (experts[place], weights[place]) = (Int32(expert), logits[expert])
            found = min(found + 1, used)
        }
        let largest = weights[0]
        var sum: Float = 0
        if !normalizes { for expert in 0..<count { sum += exp(logits[expert] - largest) } }
        for place in 0..<used {
            weights[place] = exp(weights[place] - largest)
            if normalizes { sum += weights[place] }
        }
        for place in 0..<used { weights[place] *= scale / sum }
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

    /// How many of an expert's rows are before `row` of the step.
    func rows(of expert: Int, before row: Int) -> Int {
        places(of: expert).prefix { rowAtPlace[$0] < row }.count
    }

    /// Adds the outputs of a pass, `[places, width]`, weighted, each row's in the order of its experts.
    func add(_ outputs: Matrix, of pass: Pass, to residual: Matrix, on compute: Compute) {
        compute.forEachRow(of: residual) { row in
            for index in row * used..<(row + 1) * used where pass.places.contains(Int(places[index])) {
                compute.add(
                    outputs[Int(places[index]) - pass.places.lowerBound], times: weights[index], to: residual[row],
                    count: residual.columns)
            }
        }
    }
}
