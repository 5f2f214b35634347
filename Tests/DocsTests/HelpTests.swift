import CommandLineParsing
import Testing

@testable import AppGateway
@testable import Bench
@testable import Chat
@testable import Shim

/// The help texts of the programs and of their commands.
struct HelpTests {
    private static let texts =
        [Options.usage(.apps, width: 80), Chat.help(width: 80), Bench.overview(width: 80)]
        + ModelCommand.allCases.map { $0.usage(width: 80) } + ScriptCommand.all.map { $0.help(width: 80) }
        + Bench.commands.map { Bench.help(of: $0, width: 80) }

    @Test(arguments: texts) func `A help text fits a terminal of 80 columns`(text: String) {
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        #expect(text.hasPrefix("usage: "))
    }

    @Test func `A help text fills its paragraphs, keeps lists, and breaks a usage in front of options`() {
        let text = """
            usage: program -m FILE [-p N] [-n N]

            one two
            three four five six

              a  first
              b  second
            """
        #expect(
            text.filled(to: 24) == """
                usage: program
                       -m FILE [-p N]
                       [-n N]

                one two three four five
                six

                  a  first
                  b  second
                """)
    }

    @Test func `Sizes have three digits`() {
        #expect(
            [500_000, 9_994_999, 98_362_432, 105_000_000, 999_499_999].map { size($0) }
                == ["0.50 MB", "9.99 MB", "98.4 MB", "105 MB", "999 MB"])
        #expect(
            [999_500_000, 12_100_000_000, 10_000_000_000_000].map { size($0) } == ["1.00 GB", "12.1 GB", "10000 GB"])
    }
}
