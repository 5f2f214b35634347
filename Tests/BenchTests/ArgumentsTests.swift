import CommandLineParsing
import Testing

@Suite struct ArgumentsTests {
    private static let options = [
        Option("-m", "--model", value: "FILE", help: "the file"),
        Option("-p", "--n-prompt", value: "N,…", help: "numbers"),
        Option("--flag", help: "a flag"),
    ]

    private func parse(_ arguments: String...) throws(UsageError) -> Arguments {
        try Arguments(arguments, options: Self.options)
    }

    @Test func `a value follows the name or an equals sign`() throws {
        #expect(try parse("-m", "a").string("--model") == "a")
        #expect(try parse("--model", "a").string("-m") == "a")
        #expect(try parse("--model=a=b").string("--model") == "a=b")
        #expect(try parse("--model=").string("--model") == "")
        #expect(try parse("--model", "--flag").string("--model") == "--flag")
    }

    @Test func `the last of two values counts, and lists go on`() throws {
        let arguments = try parse("-p", "1,2", "-m", "a", "--n-prompt=3", "--model", "b")
        #expect(arguments.string("--model") == "b")
        #expect(try arguments.ints("-p") == [1, 2, 3])
        #expect(try parse().ints("-p") == nil)
    }

    @Test func `what a command does not take is refused by name`() {
        #expect(throws: UsageError("unknown argument 'x'")) { try parse("x") }
        #expect(throws: UsageError("unknown argument '--modell'; did you mean --model?")) {
            try parse("--modell", "x")
        }
        #expect(throws: UsageError("unknown argument '--other'")) { try parse("--other") }
        #expect(throws: UsageError("-m needs a value")) { try parse("-m") }
        #expect(throws: UsageError("--flag takes no value")) { try parse("--flag=1") }
        #expect(throws: UsageError("--model is missing")) { try parse().required("--model") }
    }

    @Test(arguments: ["", "a", "1,", "1;2", "-1", "1.5", "99999999999999999999"])
    func `a list of anything but whole numbers is refused`(text: String) {
        #expect(throws: UsageError.self) { try parse("-p", text).ints("-p") }
    }

    @Test func `numbers outside the range are refused with the range`() {
        #expect(throws: UsageError("-p: expected a whole number in 1...9, found '10'")) {
            try parse("-p", "10").int("-p", in: 1...9)
        }
        #expect(throws: UsageError("-p: expected a number, found 'nan'")) { try parse("-p", "nan").double("-p") }
    }

    private enum Color: String, CaseIterable { case red, green, blue }

    @Test func `a choice is one of its words`() throws {
        #expect(try parse("-m", "green").choice("-m", of: Color.self) == .green)
        #expect(try parse().choice("-m", of: Color.self) == nil)
        #expect(throws: UsageError("-m: expected red, green or blue, found 'Red'")) {
            try parse("-m", "Red").choice("-m", of: Color.self)
        }
    }

    @Test func `operands are what is no option, where a command takes them`() throws {
        let arguments = try Arguments(["a", "-m", "b", "c"], options: Self.options, takesOperands: true)
        #expect(arguments.operands == ["a", "c"])
        #expect(arguments.string("-m") == "b")
        #expect(throws: UsageError("unknown argument '-x'")) {
            try Arguments(["a", "-x"], options: Self.options, takesOperands: true)
        }
    }

    @Test func `the help lines up, and lines are no longer than the terminal is wide`() {
        #expect(
            Self.options.help(width: 80) == """
                  -m, --model FILE    the file
                  -p, --n-prompt N,…  numbers
                  --flag              a flag
                """)
        let options = [
            Option("-m", "--model", value: "FILE", help: "one two three"),
            Option("--an-option-with-a-long-name", value: "VALUE", help: "four"),
        ]
        #expect(
            options.help(width: 30) == """
                  -m, --model FILE  one two
                                    three
                  --an-option-with-a-long-name VALUE
                                    four
                """)
        let groups = [OptionGroup("First", options), OptionGroup("None", []), OptionGroup("Second", Self.options)]
        let help = groups.help(width: 80)
        #expect(help.hasPrefix("First:\n  -m") && help.contains("\n\nSecond:\n"))
        #expect(!help.contains("None"))
    }
}
