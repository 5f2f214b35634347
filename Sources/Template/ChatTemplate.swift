public import Foundation

/// A model's chat template: Jinja, as in the transformers library.
///
/// The language is Jinja2 3.1 with `trim_blocks`, `lstrip_blocks`, loop controls, `{% generation %}`, and transformers'
/// own `tojson`, `raise_exception` and `strftime_now`, under the rules of Jinja2's `ImmutableSandboxedEnvironment`.
/// Templates come from untrusted model files: rendering takes bounded time and memory, and all failures are a
/// ``TemplateError``.
///
/// Differences from Python: integers have 64 bits and overflow is an error; lazy filters process the whole input at
/// once; `random`, `lipsum`, `pprint`, `urlize` and inclusion of other templates are rejected; a macro or loop that
/// reads a name which the top level sets only later gets that variable, where Jinja2 finds it undefined.
public struct ChatTemplate: Sendable {
    /// Resource limits of rendering, beyond which it fails with an error of kind ``TemplateError/Kind/limit``.
    public struct Limits: Sendable {
        /// Evaluated expressions, executed statements and elements read or created, plus one per 16 bytes of text read
        /// or created. Slower operations, such as case mapping, count more. Each byte of the variables adds two to the
        /// limit.
        public var steps = 10_000_000
        /// CPU time of the thread.
        public var seconds = 10.0
        /// Bytes written, including text captured by macros and blocks.
        public var outputBytes = 64 << 20

        public init() {}
    }

    /// The text that was parsed.
    public let source: String
    private let parsed: ParsedTemplate

    /// Parses a template.
    public init(_ source: String) throws(TemplateError) {
        parsed = try Parser.parse(source)
        self.source = source
    }

    /// ChatML, the template for models whose file has none.
    ///
    /// Each message is `<|im_start|>ROLE`, a newline, the content, `<|im_end|>` and a newline; with
    /// `add_generation_prompt` the line `<|im_start|>assistant` follows. There are no tools and no default system
    /// message. For content in parts, the parts of type `text` are used.
    public static let fallbackSource = """
        {%- for message in messages -%}
        {{- '<|im_start|>' + message.role + '\\n' -}}
        {%- if message.content is string -%}
        {{- message.content -}}
        {%- elif message.content -%}
        {%- for part in message.content if part.type == 'text' -%}{{- part.text -}}{%- endfor -%}
        {%- endif -%}
        {{- '<|im_end|>\\n' -}}
        {%- endfor -%}
        {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
        """

    /// Renders the template. Throws if the task is cancelled.
    ///
    /// - Parameters:
    ///   - variables: Variables of the template: `messages`, `tools`, `add_generation_prompt`, `bos_token` …
    ///   - now: The time for `strftime_now`, which prints it in the local time zone; nil: the current time.
    public func render(
        _ variables: TemplateObject, limits: Limits = Limits(), now: Date? = nil
    ) throws(TemplateError) -> String {
        let renderer = Renderer(symbols: parsed.symbols, limits: limits, now: now)
        defer { renderer.tearDown() }
        return try renderer.render(parsed.body, variables)
    }
}
