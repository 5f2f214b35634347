@testable import Engine
import Synchronization
import TestSupport
import Testing

@testable import LocalLLM

/// What a client gets of a model that others use too.
@Suite(.timeLimit(.minutes(3))) struct ClientShareTests {
    @Test func `clients take turns, whoever has the most to do`() {
        var queue = FairQueue<Int>()
        for number in 0..<100 { queue.append(number, of: "busy") }
        queue.append(1000, of: "other")
        #expect((0..<4).map { _ in queue.next()?.element } == [0, 1000, 1, 2])
        queue.append(1001, of: "other")
        #expect((0..<3).map { _ in queue.next()?.element } == [3, 1001, 4])
        for number in 5..<100 { #expect(queue.next()?.element == number) }
        #expect(queue.next() == nil && queue.isEmpty)
    }

    @Test func `a client that has to wait holds up no other, and keeps its turn`() {
        var queue = FairQueue<Int>()
        for client in ["first", "second"] { for number in 0..<2 { queue.append(number, of: client) } }
        #expect(queue.next { $0 != "first" }?.client == "second")
        #expect(queue.next { $0 != "first" }?.client == "second")
        #expect(queue.next { $0 != "first" } == nil && !queue.isEmpty)
        #expect(queue.next()?.element == 0)
    }

    @Test func `a client has up to three times as many places as are free`() {
        var admission = ModelThread.Admission(limit: 100)
        var id = 0
        func fill(_ client: String?) -> Int {
            var count = 0
            while count < 200, admission.hasRoom(for: client) {
                id += 1
                count += 1
                admission.insert(id, of: client)
            }
            return count
        }
        // 25 are left, of which the next may take three quarters, and so on.
        #expect(fill("a") == 75)
        #expect(fill("b") == 19)
        #expect(fill("c") == 5)
        // Who has some gets no more, who has none does.
        #expect(fill("a") == 0 && fill("b") == 0 && fill("c") == 0)
        #expect(fill("d") == 1)
        #expect(fill("e") == 0 && fill(nil) == 0)
        for number in 1...26 { admission.remove(number) }
        #expect(!admission.contains(26) && admission.contains(27))
        #expect(fill("d") == 20 && fill("a") == 0)
        for number in 1...id {
            admission.remove(number)
            admission.remove(number)
        }
        #expect(fill(nil) == 100)
    }

    @Test func `a client with little in the queue gets places whatever others have in it`() {
        var admission = ModelThread.Admission(limit: 192)
        var id = 0
        func add(_ client: String) -> Bool {
            guard admission.hasRoom(for: client) else { return false }
            id += 1
            admission.insert(id, of: client)
            return true
        }
        #expect(add("well-behaved"))
        for _ in 0..<500 { for client in ["a", "b", "c", "d"] { _ = add(client) } }
        // A request with several choices.
        #expect((0..<8).allSatisfy { _ in add("well-behaved") })
        #expect(!add("a"))
    }

    @Test func `a request with several choices gets places for all of them or for none`() {
        var admission = ModelThread.Admission(limit: 20)
        for id in 0..<8 { admission.insert(id, of: "a") }
        let (large, small) = (GenerationGroup(size: 16), GenerationGroup(size: 6))
        #expect(!admission.hasRoom(for: "a", group: large) && !admission.hasRoom(for: "b", group: large))
        for id in 8..<14 {
            #expect(admission.hasRoom(for: "b", group: small))
            admission.insert(id, of: "b", group: small)
        }
        for id in 8..<14 { admission.remove(id) }
        #expect(admission.hasRoom(for: "b", group: small))
        for id in 0..<8 { admission.remove(id) }
        // Alone, three quarters.
        #expect(admission.hasRoom(for: "b", group: GenerationGroup(size: 15)))
        #expect(!admission.hasRoom(for: "b", group: large))
    }

    @Test func `who has nothing running gets a place of whoever has the most`() {
        var scheduler = Scheduler(concurrency: 4, capacity: 100_000, stateBytes: { $0 })
        // The groups of one client take turns.
        for id in 1...6 { scheduler.add(id, group: id / 4, client: "busy", promptTokens: 1) }
        #expect(scheduler.nextStep(rows: 100).map(\.id).sorted() == [1, 2, 4, 5])
        #expect(scheduler.preempt().isEmpty)
        for id in [1, 2, 4, 5] { scheduler.extend(id) }
        scheduler.add(7, client: "other", promptTokens: 1)
        scheduler.add(8, client: "other", promptTokens: 1)
        #expect(scheduler.preempt() == [5])
        // Its prompt comes before the answers, which wait for one step.
        #expect(scheduler.nextStep(rows: 100).map(\.id) == [7])
        scheduler.extend(7)
        #expect(Set(scheduler.nextStep(rows: 100).map(\.id)) == [1, 2, 4, 7])
        // Both have some: nobody is sent back for more.
        #expect(scheduler.preempt().isEmpty)
        scheduler.remove(1)
        #expect(scheduler.nextStep(rows: 100).map(\.id).contains(8))
    }

    @Test func `the same where memory is what is short`() {
        var scheduler = Scheduler(concurrency: 100, capacity: 80, stateBytes: { $0 })
        for id in 1...5 { scheduler.add(id, client: "busy", promptTokens: 20) }
        #expect(scheduler.nextStep(rows: 100).map(\.id) == [1, 2, 3])
        scheduler.add(6, client: "other", promptTokens: 20)
        #expect(scheduler.preempt() == [3])
        #expect(scheduler.nextStep(rows: 100).map(\.id).contains(6))
    }

    private func load() async throws -> LocalModel {
        let directory = try TemporaryDirectory()
        var description = TinyModel()
        description.context = 4096
        return try await LocalModel.load(
            from: try description.write(in: directory), configuration: .init(threads: 1))
    }

    private final class Gate: Sendable {
        let isReached = Mutex(false)
        let isOpen = Mutex(false)
    }

    /// The steps of an answer, and readings of others that are always there.
    @Test func `an answer goes on beside others' embeddings`() async throws {
        let model = try await load()
        let input = [Int32](repeating: 5, count: 2000)
        let readers = (0..<8).map { number in
            Task {
                try await FairShare.$client.withValue("reader \(number)") {
                    while !Task.isCancelled { _ = try await model.embeddings(of: [input, input]) }
                }
            }
        }
        let options = SamplingOptions(
            temperature: 0, logitBias: [TinyModel.endOfSequence: -1000], maximumTokens: 200)
        var count = 0
        for try await piece in model.generate(tokens: [5, 6, 7], options: options) { count += piece.tokens.count }
        #expect(count == 200)
        for reader in readers { reader.cancel() }
        for reader in readers { _ = await reader.result }
    }

    @Test func `a model that is dropped ends what waits for its turn`() async throws {
        let gate = Gate()
        var model: LocalModel? = try await load()
        let thread = try #require(model).thread
        let blocker = Task {
            try await thread.perform { _, _ in
                gate.isReached.withLock { $0 = true }
                while !gate.isOpen.withLock({ $0 }) {}
            }
        }
        while !gate.isReached.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        let waiting = (0..<20).map { number in
            Task { try await FairShare.$client.withValue("\(number % 3)") { try await thread.perform { _, _ in } } }
        }
        try await Task.sleep(for: .milliseconds(50))
        model = nil
        thread.stop()
        gate.isOpen.withLock { $0 = true }
        try await blocker.value
        // Each of them ends, one way or the other.
        for task in waiting {
            if case .failure(let error) = await task.result { #expect(error as? LocalModelError == .shutDown) }
        }
    }

    @Test func `requests with different salts do not share what they begin with`() async throws {
        let model = try await load()
        let prompt = (0..<100).map { Int32($0 * 37 % 256 + 3) }
        func cached(_ salt: String?) async throws -> Int {
            var options = SamplingOptions(temperature: 0, maximumTokens: 1)
            options.cacheSalt = salt
            var usage: Usage?
            for try await piece in model.generate(tokens: prompt, options: options) { usage = piece.finish?.usage }
            return try #require(usage).cachedTokens
        }
        #expect(try await cached(nil) == 0)
        #expect(try await cached(nil) == 96)
        #expect(try await cached("a") == 0)
        #expect(try await cached("b") == 0)
        #expect(try await cached("a") == 96)
        #expect(try await cached("b") == 96)
        #expect(try await cached(nil) == 96)
    }
}
