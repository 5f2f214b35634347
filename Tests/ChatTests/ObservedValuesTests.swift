import Observation
import Testing

@testable import Chat

@Suite(.timeLimit(.minutes(1))) @MainActor struct ObservedValuesTests {
    @Test func `a reader gets the value and what it changes to, the latest if several changes came`() async {
        let counter = Counter()
        var values = observedValues { counter.value }.makeAsyncIterator()
        #expect(await values.next() == 0)
        counter.value = 1
        #expect(await values.next() == 1)
        counter.value = 2
        counter.value = 3
        #expect(await values.next() == 3)
    }

    @Test func `reading ends with its task, and then keeps nothing`() async {
        var counter: Counter? = Counter()
        let kept = { [weak counter] in counter }
        let reader = Task { [counter = counter!] in
            for await value in observedValues({ counter.value }) where value == 1 { break }
            for await _ in observedValues({ counter.value }) {}
        }
        counter?.value = 1
        await Task.yield()
        counter = nil
        reader.cancel()
        await reader.value
        for _ in 0..<1000 where kept() != nil { await Task.yield() }
        #expect(kept() == nil)
    }
}

@MainActor @Observable private final class Counter {
    var value = 0
}
