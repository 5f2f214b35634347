@testable import Compute
import Testing
import Tiers

@testable import LocalLLM

/// States of every kind grow, fork and roll back without a trace. Results are compared bit for bit.
@Suite struct SequenceStateTests {
    private let compute = Compute(kernels: .best, threads: 1)
    private let tokens = (0..<300).map { Int32($0 * 37 % 61) }

    /// Enters tokens in steps of `chunk`.
    ///
    /// - Returns: The logits after the last.
    @discardableResult
    private func enter(
        _ tokens: ArraySlice<Int32>, into state: SequenceState, of network: ToyNetwork, chunk: Int = 64
    ) -> [Float] {
        var result: [Float] = []
        for start in stride(from: tokens.startIndex, to: tokens.endIndex, by: chunk) {
            var step = Step()
            step.append(tokens[start..<min(start + chunk, tokens.endIndex)], to: state, output: .last)
            let logits = network.forward(step, on: compute)
            result = Array(UnsafeBufferPointer(start: logits[0], count: logits.columns))
        }
        return result
    }

    @Test(arguments: ToyLayers.all)
    func `tokens at once, in pieces and one by one leave the same state`(toy: ToyLayers) {
        let network = ToyNetwork(toy.layers)
        let whole = enter(tokens[..<150], into: network.makeState(), of: network, chunk: 150)
        #expect(Set(whole).count > 32, "the logits say something")
        for chunk in [1, 5, 32, 47] {
            #expect(enter(tokens[..<150], into: network.makeState(), of: network, chunk: chunk) == whole)
        }
        var changed = tokens
        // The window of the longest chain of windows does not reach back so far, all else does.
        changed[110] += 1
        #expect(enter(changed[..<150], into: network.makeState(), of: network, chunk: 150) != whole)
    }

    @Test(arguments: ToyLayers.all, [1, 20, 32, 64, 90, 130])
    func `a sequence that is rolled back equals one that never went there`(toy: ToyLayers, length: Int) {
        let network = ToyNetwork(toy.layers)
        let state = network.makeState()
        enter(tokens[..<length], into: state, of: network)
        state.checkpoint()
        for detour in [3, 40, 200] {
            enter(tokens.suffix(detour), into: state, of: network, chunk: 50)
            #expect(state.rollBack(to: length) == length)
            #expect(state.count == length)
        }
        let fresh = network.makeState()
        enter(tokens[..<length], into: fresh, of: network)
        #expect(state.bytes <= fresh.bytes)
        let next = tokens[200..<250]
        #expect(enter(next, into: state, of: network, chunk: 7) == enter(next, into: fresh, of: network, chunk: 7))
    }

    @Test(arguments: ToyLayers.all)
    func `without a checkpoint a roll-back ends where the state is known, and what is computed anew is the same`(
        toy: ToyLayers
    ) {
        let network = ToyNetwork(toy.layers)
        let state = network.makeState()
        enter(tokens[..<100], into: state, of: network)
        state.checkpoint()
        enter(tokens[100..<240], into: state, of: network)
        let length = state.rollBack(to: 170)
        let isKnown = !state.shape.needsCheckpoints
        #expect(length == (isKnown ? 170 : state.shape.recurrentFloats > 0 ? 100 : length))
        #expect([100, 170].contains(length))
        enter(tokens[length..<170], into: state, of: network)
        let fresh = network.makeState()
        enter(tokens[..<170], into: fresh, of: network)
        let next = tokens[10..<60]
        #expect(enter(next, into: state, of: network) == enter(next, into: fresh, of: network))
        #expect(state.rollBack(to: 60) == (isKnown ? 60 : 0))
        #expect(state.rollBack(to: 0) == 0)
        #expect(
            enter(tokens[..<90], into: state, of: network)
                == enter(tokens[..<90], into: network.makeState(), of: network))
    }

    @Test(arguments: ToyLayers.all)
    func `the last step can always be undone where layers have keys and values only`(toy: ToyLayers) {
        let network = ToyNetwork(toy.layers)
        guard network.stateShape.recurrentFloats == 0 else { return }
        let (state, fresh) = (network.makeState(), network.makeState())
        enter(tokens[..<201], into: state, of: network)
        enter(tokens[..<201], into: fresh, of: network)
        enter(tokens[50..<170], into: state, of: network, chunk: 120)
        #expect(state.rollBack(to: 201) == 201)
        #expect(
            enter(tokens[..<9], into: state, of: network, chunk: 1)
                == enter(tokens[..<9], into: fresh, of: network, chunk: 1))
    }

    @Test(arguments: ToyLayers.all, [1, 3])
    func `a step that is abandoned between two layers leaves no trace`(toy: ToyLayers, layers: Int) {
        let network = ToyNetwork(toy.layers)
        let (state, fresh) = (network.makeState(), network.makeState())
        enter(tokens[..<75], into: state, of: network)
        enter(tokens[..<75], into: fresh, of: network)
        state.checkpoint()
        var step = Step()
        step.append(tokens[100..<180], to: state, output: .last)
        var asked = 0
        step.isAbandoned = {
            asked += 1
            return asked > layers
        }
        _ = network.forward(step, on: compute)
        #expect(state.rollBack(to: 75) == 75)
        let next = tokens[75..<140]
        #expect(enter(next, into: state, of: network) == enter(next, into: fresh, of: network))
    }

    @Test(arguments: ToyLayers.all, [1, 31, 64, 100])
    func `forks go their own ways`(toy: ToyLayers, length: Int) {
        let network = ToyNetwork(toy.layers)
        let trunk = network.makeState()
        enter(tokens[..<length], into: trunk, of: network)
        let forks = [trunk, trunk.fork(), trunk.fork()]
        let ways = [tokens[100..<180], tokens[20..<100], tokens[200..<280]]
        var ends: [[Float]] = [[], [], []]
        // In turns, so that each would write over the others.
        for part in 0..<4 {
            for index in forks.indices {
                let way = ways[index]
                let first = way.startIndex + 20 * part
                ends[index] = enter(way[first..<first + 20], into: forks[index], of: network, chunk: 6)
            }
        }
        for (way, end) in zip(ways, ends) {
            let fresh = network.makeState()
            enter(tokens[..<length], into: fresh, of: network)
            #expect(enter(way, into: fresh, of: network) == end)
        }
    }

    @Test(arguments: ToyLayers.all)
    func `two sequences in one step do not see each other`(toy: ToyLayers) {
        let network = ToyNetwork(toy.layers)
        let states = [network.makeState(), network.makeState()]
        let ways = [tokens[..<90], tokens[150..<240]]
        var together: [[Float]] = [[], []]
        for start in stride(from: 0, to: 90, by: 30) {
            var step = Step()
            for (way, state) in zip(ways, states) {
                step.append(way.dropFirst(start).prefix(30), to: state, output: .last)
            }
            let logits = network.forward(step, on: compute)
            together = (0..<2).map { Array(UnsafeBufferPointer(start: logits[$0], count: logits.columns)) }
        }
        for (way, logits) in zip(ways, together) {
            #expect(enter(way, into: network.makeState(), of: network) == logits)
        }
    }

    // MARK: Memory

    @Test(arguments: ToyLayers.all)
    func `a state takes no more bytes than its shape says, and gives all of them back`(toy: ToyLayers) {
        let (network, memory) = (ToyNetwork(toy.layers), StateMemory())
        do {
            let state = network.makeState(in: memory)
            for length in stride(from: 25, through: 300, by: 25) {
                enter(tokens[length - 25..<length], into: state, of: network)
                #expect(state.bytes <= network.stateShape.bytes(tokens: length))
                #expect(state.bytes == memory.bytes)
            }
            let fork = state.fork()
            #expect(memory.bytes == state.bytes, "a fork that did not go on takes nothing")
            enter(tokens[..<1], into: fork, of: network)
            #expect(memory.bytes > state.bytes && memory.bytes <= 2 * state.bytes)
        }
        #expect(memory.bytes == 0)
    }

    @Test func `layers with a window give back the pages behind it`() {
        let shape = StateShape([ToyNetwork.window(40), ToyNetwork.keysAndValues, ToyNetwork.window(40)])
        let state = SequenceState(shape)
        for _ in 0..<1000 { state.grow(by: 1) }
        // A window of 40 tokens reaches into 3 pages at most.
        let windows = state.bytes - 32 * shape.groups[1].pageBytes
        #expect((2...3).contains(windows / shape.groups[0].pageBytes))
        #expect(shape.bytesPerToken == 2 * (8 + 8) * 2)
        #expect(shape.bytes(tokens: 64_000) - shape.bytes(tokens: 32_000) == 1000 * shape.groups[1].pageBytes)
        #expect(shape.readBytesPerToken(window: 40) == 2 * (16 + 16) * 2)
        #expect(shape.fixedBytes == shape.bytes(tokens: 64_000) - 2000 * shape.groups[1].pageBytes)
    }

    @Test func `a state keeps a bounded number of checkpoints, the latest`() {
        let (network, memory) = (ToyNetwork([ToyNetwork.recurrent]), StateMemory())
        let state = network.makeState(in: memory)
        for length in 1...50 {
            enter(tokens[length - 1..<length], into: state, of: network)
            state.checkpoint()
        }
        let floats = ToyNetwork.width * 4
        #expect(memory.bytes <= (SequenceState.checkpointLimit + 1) * floats)
        #expect(state.rollBack(to: 51 - SequenceState.checkpointLimit) == 51 - SequenceState.checkpointLimit)
        #expect(state.rollBack(to: 10) == 0)
        enter(tokens[..<1], into: state, of: network)
        #expect(memory.bytes == floats)
    }

    @Test func `sizes that a hostile file asks for do not overflow`() {
        let shape = StateShape(
            Array(repeating: .keysAndValues(heads: 1 << 12, keyWidth: 1 << 12, valueWidth: 1), count: 4))
        #expect(shape.bytes(tokens: .max) == 1 << 60)
        #expect(shape.tokens(in: 1 << 40, limit: .max) < 1 << 20)
        #expect(StateShape([.recurrent(floats: 10)]).tokens(in: 64, limit: 1000) == 1000)
        #expect(StateShape([.recurrent(floats: 10)]).tokens(in: 63, limit: 1000) == 0)
        #expect(StateShape([]).bytes(tokens: 1000) == 0)
    }
}
