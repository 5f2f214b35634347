import Foundation
import Testing
import Tokenizer

@Suite struct TemplateLimitTests {
    /// The release build's promise; debug frames are about eight times as large.
    #if DEBUG
        private static let stack = 4096 << 10
    #else
        private static let stack = 512 << 10
    #endif

    /// Renders on a thread with the smallest stack that templates must work on.
    private func outcome(_ source: String) async -> Result<String, TemplateError> {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    returning: Result { () throws(TemplateError) in
                        try ChatTemplate(source).render(["a": .int(1), "x": .object([:])])
                    })
            }
            thread.stackSize = Self.stack
            thread.start()
        }
    }

    private func nested(_ open: String, _ middle: String, _ close: String, _ count: Int) -> String {
        String(repeating: open, count: count) + middle + String(repeating: close, count: count)
    }

    @Test(arguments: [10_000, 100])
    func `deep nesting is an error, never a stack overflow`(count: Int) async {
        let sources = [
            "{{ " + nested("(", "1", ")", count) + " }}", "{{ " + nested("[", "", "]", count) + " }}",
            "{{ " + nested("{1:", "1", "}", count) + " }}", "{{ " + nested("-", "1", "", count) + " }}",
            "{{ " + nested("not ", "1", "", count) + " }}", "{{ 1" + nested("+1", "", "", count) + " }}",
            "{{ a" + nested("|abs", "", "", count) + " }}", "{{ x" + nested(".a", "", "", count) + " }}",
            "{{ 1" + nested(" if 1 else 1", "", "", count) + " }}", "{{ f" + nested("(a", "", ")", count) + " }}",
            "{{ x" + nested("[x", "", "]", count) + " }}", nested("{% if 1 %}", "", "{% endif %}", count),
            "{% for " + nested("(", "a", ")", count) + " in x %}{% endfor %}",
        ]
        for source in sources {
            let outcome = await outcome(source)
            #expect(throws: TemplateError.self, "\(source.prefix(20))") { try outcome.get() }
        }
    }

    @Test(arguments: [
        "{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(0) }}",
        "{% macro m(n) %}{% for i in [1] %}{% set x %}{{ [m(n)|upper] }}{% endset %}{% endfor %}{% endmacro %}{{ m(0) }}",
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% macro a() %}{{ caller() }}{% endmacro %}{% macro r() %}{% call a() %}{{ r() }}{% endcall %}{% endmacro %}{{ r() }}",
        "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}",
        "{% set ns = namespace(x=[]) %}{% for i in range(10000) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(200) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}",
    ])
    func `recursion without end is an error, never a stack overflow`(source: String) async {
        let outcome = await outcome(source)
        #expect { try outcome.get() } throws: { ($0 as? TemplateError)?.kind == .limit }
    }

    @Test(arguments: [
        "{{ 'a' * 10 ** 12 }}", "{{ [1] * 10 ** 12 }}", "{{ 10 ** 100 }}", "{{ 9223372036854775807 + 1 }}",
        "{{ (-9223372036854775807 - 1) // -1 }}", "{{ -(-9223372036854775807 - 1) }}", "{{ range(10 ** 12) }}",
        "{{ '%999999999d' % 1 }}", "{{ '%.999999999f' % 1 }}", "{{ '{:999999999}'.format(1) }}",
        "{{ 'a'|center(10 ** 12) }}", "{{ 'a'.zfill(10 ** 12) }}", "{{ 'a\nb'|indent(10 ** 12) }}",
        "{{ [1]|tojson(indent=10 ** 12) }}", "{{ [1]|batch(10 ** 12, 1)|list }}", "{{ [1]|slice(10 ** 12)|list }}",
        "{{ ('a' * 10 ** 6).replace('a', 'b' * 10 ** 6) }}", "{{ ('b' * 1000).join('a' * 100000) }}",
        "{{ '\t'.expandtabs(10 ** 12) }}",
        "{% set ns = namespace(s='aa') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ 'x' * 1000000 }}{% endfor %}",
    ])
    func `what would take all memory or time stops at a limit`(source: String) async {
        let start = ContinuousClock.now
        let outcome = await outcome(source)
        #expect { try outcome.get() } throws: { ($0 as? TemplateError)?.kind == .limit }
        // A second or two alone on a machine; the bound leaves room for a slow one.
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test(arguments: [
        "{{ 'abc'[::9223372036854775807] }}{{ 'abc'[-9223372036854775807:] }}", "{{ [1][-9223372036854775807 - 1] }}",
        "{{ (-9223372036854775807 - 1) % -1 }}", "{{ range(9223372036854775806, 9223372036854775807, 9)|list }}",
        "{{ 'abc'.find('b', -9223372036854775807, 9223372036854775807) }}", "{{ 1.5|round(-9223372036854775807) }}",
        "{{ 'abc'|truncate(9223372036854775807) }}", "{{ 'a'.zfill(-9223372036854775807) }}",
        "{{ 'zz'|int(0, 99) }}", "{{ [1]|batch(-3, 1)|list }}",
    ])
    func `extreme numbers are harmless`(source: String) async {
        let outcome = await outcome(source)
        #expect(throws: Never.self) { try outcome.get() }
    }

    @Test func `the limits can be set`() throws {
        var limits = ChatTemplate.Limits()
        limits.outputBytes = 10
        let template = try ChatTemplate("{{ 'x' * n }}")
        #expect(try template.render(["n": .int(10)], limits: limits).utf8.count == 10)
        #expect(throws: TemplateError.self) { try template.render(["n": .int(11)], limits: limits) }
        limits = ChatTemplate.Limits()
        limits.steps = 3
        #expect(throws: TemplateError.self) { try ChatTemplate("{{ 1 }}{{ 2 }}").render([:], limits: limits) }
    }
}
