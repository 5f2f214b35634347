import Testing

@testable import LocalLLM

@Suite struct SchedulerTests {
    private typealias Entry = Scheduler.Entry

    @Test func `a long prompt goes in pieces, and only the last of them wants logits`() {
        var scheduler = Scheduler(rowBudget: 4, concurrency: 2, capacity: 1_000)
        scheduler.add(1, promptTokens: 10, limit: 20)
        #expect(scheduler.nextStep() == [Entry(id: 1, tokens: 0..<4, wantsLogits: false)])
        #expect(scheduler.nextStep() == [Entry(id: 1, tokens: 4..<8, wantsLogits: false)])
        #expect(scheduler.nextStep() == [Entry(id: 1, tokens: 8..<10, wantsLogits: true)])
    }

    @Test func `running answers come before prompts in every step`() {
        var scheduler = Scheduler(rowBudget: 4, concurrency: 2, capacity: 1_000)
        scheduler.add(1, promptTokens: 2, limit: 20)
        _ = scheduler.nextStep()
        scheduler.extend(1)
        scheduler.add(2, promptTokens: 9, limit: 20)
        #expect(
            scheduler.nextStep() == [
                Entry(id: 1, tokens: 2..<3, wantsLogits: true, isAnswer: true),
                Entry(id: 2, tokens: 0..<3, wantsLogits: false),
            ])
    }

    @Test func `the last token of a prompt is no answer, even if it comes alone`() {
        var scheduler = Scheduler(rowBudget: 4, concurrency: 2, capacity: 1_000)
        scheduler.add(1, promptTokens: 5, limit: 20)
        scheduler.add(2, promptTokens: 3, limit: 20)
        _ = scheduler.nextStep()
        #expect(
            scheduler.nextStep() == [
                Entry(id: 1, tokens: 4..<5, wantsLogits: true), Entry(id: 2, tokens: 0..<3, wantsLogits: true),
            ])
    }

    @Test func `what exceeds the concurrency waits, and comes in order`() {
        var scheduler = Scheduler(rowBudget: 8, concurrency: 1, capacity: 1_000)
        scheduler.add(1, promptTokens: 2, limit: 20)
        scheduler.add(2, promptTokens: 2, limit: 20)
        scheduler.add(3, promptTokens: 2, limit: 20)
        #expect(scheduler.nextStep().map(\.id) == [1])
        scheduler.remove(1)
        #expect(scheduler.nextStep().map(\.id) == [2])
        scheduler.remove(3)
        scheduler.remove(2)
        #expect(scheduler.nextStep().isEmpty)
    }

    @Test func `a sequence that has no new token is not computed again`() {
        var scheduler = Scheduler(rowBudget: 8, concurrency: 2, capacity: 1_000)
        scheduler.add(1, promptTokens: 3, limit: 20)
        _ = scheduler.nextStep()
        #expect(scheduler.nextStep().isEmpty)
    }

    @Test func `sequences whose limits do not fit the memory together run one after the other`() {
        var scheduler = Scheduler(rowBudget: 8, concurrency: 4, capacity: 50)
        scheduler.add(1, promptTokens: 1, limit: 90)
        scheduler.add(2, promptTokens: 1, limit: 30)
        scheduler.add(3, promptTokens: 1, limit: 20)
        #expect(scheduler.nextStep().map(\.id) == [1])
        scheduler.remove(1)
        #expect(scheduler.nextStep().map(\.id) == [2, 3])
    }
}
