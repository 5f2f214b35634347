import Testing

@testable import Constraint

/// Work on constraints ends when its time is used up, and when nobody wants its result.
@Suite(.timeLimit(.minutes(1))) struct TimeAllowanceTests {
    private static let names = (0..<20_000).map { "\"n\($0)\"" }
    private static let manyNames = Constraint.Source.jsonSchema(
        #"{"properties":{\#(names.map { $0 + ":{}" }.joined(separator: ","))},"required":[\#(names.joined(separator: ","))]}"#
    )
    private static let pattern = Constraint.Source.regex(#"(?=(.*\p{L}){20})[\p{L}a-z]{50,300}"#)
    private static let numbers = Constraint.Source.jsonSchema(
        #"{"enum":[\#((0..<2_000).map(String.init).joined(separator: ","))]}"#)

    private func follow(_ constraint: Constraint, _ text: String) throws(ConstraintError) {
        var matcher = constraint.matcher()
        var mask = TokenMask(count: 0)
        for byte in text.utf8 {
            try matcher.mask(into: &mask)
            guard try matcher.accept(bytes: [byte]) == 1 else { return }
        }
    }

    @Test(arguments: [manyNames, pattern])
    func `compiling ends when it is cancelled`(_ source: Constraint.Source) throws {
        let allowance = TimeAllowance()
        allowance.cancel()
        let error = #expect(throws: ConstraintError.self) {
            try allowance.run { try Constraint.compile(source, vocabulary: TestVocabulary.vocabulary) }
        }
        #expect(error?.kind == .budget)
        #expect(error?.message.contains("cancelled") == true)
    }

    @Test func `compiling ends with its task`() async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try Constraint.compile(Self.manyNames, vocabulary: TestVocabulary.vocabulary)
        }
        await #expect(throws: ConstraintError.self) { try await task.value }
    }

    @Test func `a request's constraints have one allowance together, and the error names it`() throws {
        let allowance = TimeAllowance(seconds: 0)
        for source in [Self.manyNames, Self.pattern] {
            let error = #expect(throws: ConstraintError.self) {
                try allowance.run { try Constraint.compile(source, vocabulary: TestVocabulary.vocabulary) }
            }
            #expect(error?.kind == .budget)
            #expect(error?.message == "it takes more than 0 s of processor time")
        }
    }

    @Test(arguments: [
        (pattern, String(repeating: "aé日", count: 40)), (numbers, "1234"),
    ])
    func `following a text ends when it is cancelled, and others go on`(
        _ source: Constraint.Source, _ text: String
    ) throws {
        let constraint = try Constraint.compile(source, vocabulary: TestVocabulary.vocabulary)
        let allowance = TimeAllowance()
        allowance.cancel()
        let error = #expect(throws: ConstraintError.self) { try allowance.run { try follow(constraint, text) } }
        #expect(error?.kind == .budget)
        try follow(constraint, text)
    }

    /// Each schema was evaluated once for each way in which it is reached: 2^40 times.
    @Test func `what schemas that apply one another evaluate is found once`() throws {
        let layers = (0..<40).map {
            ##""d\##($0)":{"allOf":[{"$ref":"#/$defs/d\##($0 + 1)"},{"$ref":"#/$defs/d\##($0 + 1)"}]}"##
        }
        for (end, isAllowed) in [(#"{"properties":{"a":{}}}"#, true), ("{}", false)] {
            let constraint = try Constraint.schema(
                ##"{"$ref":"#/$defs/d0","unevaluatedProperties":false,"$defs":{\##(layers.joined(separator: ",")),"d40":\##(end)}}"##
            )
            var matcher = constraint.matcher()
            #expect(try (matcher.accept(bytes: Array(#"{"a":1}"#.utf8)) == 7) == isAllowed)
        }
    }

    @Test func `a state of an automaton of thousands of patterns counts as many`() {
        let budget = StateBudget(WorkMeter(), 30)
        #expect(budget.take(atoms: 1))
        #expect(budget.take(atoms: 10_000))
        #expect(!budget.take(atoms: 10_000))
    }
}
