import Foundation
import Template
import Testing

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
        "{{ ('a' * 1000000)|wordwrap(1, true, 'x' * 1000000) }}",
        "{{ ('ab ' * 10000000)|wordwrap(1)|length }}", "{{ ('a' * 30000000).replace('a', 'b')|list|length }}",
        "{{ ('\\n' * 60000000)|indent|length }}", "{{ ('\\n' * 60000000).splitlines()|length }}",
        "{{ ('a ' * 30000000).split()|length }}", "{{ ('a ' * 30000000).split(' ')|length }}",
        "{% macro m(a) %}{% endmacro %}{{ m(**dict.fromkeys(('a' * 20000)|list|map('string'))) }}{{ m(**dict.fromkeys(range(20000)|map('string'))) }}",
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

    /// Each turn of these loops reads megabytes; not charged for, they go on for hours.
    @Test(arguments: [
        "{% set x = ('a' * 10000000,) %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = {}[x] %}{% endfor %}{% endfor %}",
        "{% set x = ('a' * 10000000,) %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = x in {} %}{% endfor %}{% endfor %}",
        "{% set x = ('a' * 10000000,) %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = {}.get(x) %}{% endfor %}{% endfor %}",
        "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = 'b'.find(x) %}{% endfor %}{% endfor %}",
        "{% set x = '1' * 10000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = x|int %}{% set y = x|float %}{% endfor %}{% endfor %}",
        "{% set x = '<>' * 1000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = x|striptags %}{% endfor %}{% endfor %}",
        "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = x|reverse %}{% endfor %}{% endfor %}",
        "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = {}|attr(x) %}{% set y = [][x] %}{% endfor %}{% endfor %}",
        "{% set x = range(100000)|list %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = x|sum %}{% endfor %}{% endfor %}",
        "{% set x = range(100000)|list %}{% for i in range(100000) %}{% for j in range(100000) %}{% set y = x|reverse|first %}{% endfor %}{% endfor %}",
        "{% set x = range(100000)|list %}{% for i in range(100000) %}{% for j in range(100000) %}{% for k in x %}{% set y = [loop] %}{% break %}{% endfor %}{% endfor %}{% endfor %}",
    ])
    func `every operation is charged for what it reads`(source: String) throws {
        var limits = ChatTemplate.Limits()
        limits.steps = 3_000_000
        limits.seconds = .infinity
        #expect {
            _ = try ChatTemplate(source).render([:], limits: limits)
        } throws: {
            ($0 as? TemplateError)?.kind == .limit
        }
    }

    @Test(arguments: [
        "{{ (' ' * 1000000)|wordwrap|length }}", "{{ (('ab' * 50) ~ ' ')|wordwrap(7) }}",
        "{{ ('<>' * 500000)|striptags }}",
        "{{ ('<!--' * 200000)|striptags|length }}",
        "{% set g = range(100000)|map('string') %}{% for i in range(100000) %}{% set x = g|first %}{% endfor %}",
    ])
    func `what is done once to a large value takes time in proportion to it`(source: String) async {
        // Quadratic, each of these took minutes.
        let outcome = await outcome(source)
        #expect(throws: Never.self) { try outcome.get() }
    }

    @Test func `integers that one double stands for are keys of their own`() throws {
        let template = try ChatTemplate(
            "{{ {9007199254740993: 'a', 9007199254740992: 'b', 9007199254740992.0: 'c', 1: 'd', True: 'e', 1.0: 'f'} }}"
                + "{{ 9007199254740993 == 9007199254740992.0 }}{{ 2 == 2.0 }}")
        #expect(
            try template.render([:])
                == "{9007199254740993: 'a', 9007199254740992: 'c', 1: 'f'}FalseTrue")
    }

    private static let endless =
        "{% for i in range(100000) %}{% for j in range(100000) %}{% set x = 'a' * 100 %}{% endfor %}{% endfor %}"

    @Test func `cancelling the task ends a rendering`() async throws {
        let template = try ChatTemplate(Self.endless)
        var limits = ChatTemplate.Limits()
        limits.steps = .max / 2
        limits.seconds = .infinity
        let rendering = Task { [limits] in try template.render([:], limits: limits) }
        rendering.cancel()
        await #expect { try await rendering.value } throws: { "\($0)".contains("cancelled") }
    }

    @Test func `a rendering ends after its processor time`() async throws {
        var limits = ChatTemplate.Limits()
        limits.steps = .max / 2
        limits.seconds = 0.05
        #expect { try ChatTemplate(Self.endless).render([:], limits: limits) } throws: { "\($0)".contains("seconds") }
    }

    @Test func `large variables raise the limit`() throws {
        var limits = ChatTemplate.Limits()
        limits.steps = 1000
        let text = String(repeating: "a", count: 100_000)
        let template = try ChatTemplate("{{ m|trim }}")
        #expect(try template.render(["m": .string(text)], limits: limits) == text)
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
