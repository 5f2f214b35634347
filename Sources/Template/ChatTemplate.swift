public import Foundation

/// A model's chat template: Jinja, as the transformers library runs it.
///
/// The language is Jinja2 3.1's with `trim_blocks`, `lstrip_blocks`, loop controls, `{% generation %}`, and
/// transformers' own `tojson`, `raise_exception` and `strftime_now`, inside the rules of Jinja2's
/// `ImmutableSandboxedEnvironment`. Templates come from model files, which nobody vouches for: rendering one takes
/// bounded time and memory, and everything it can do wrong is a ``TemplateError``.
///
/// Where this differs from Python: whole numbers have 64 bits and overflow is an error; lazy filters work on the
/// whole input at once; `random`, `lipsum`, `pprint`, `urlize` and inclusion of other templates are refused; a macro or
/// loop that reads a name which the top level sets only further down finds the variable of that name, where Jinja2
/// finds nothing.
public struct ChatTemplate: Sendable {
    /// How much a template may use before rendering stops with an error of kind ``TemplateError/Kind/limit``.
    public struct Limits: Sendable {
        /// Expressions evaluated, statements run and elements read or made, plus one for every 16 bytes of text read or
        /// made. What takes longer, such as changing case letter by letter, takes more of them. Each byte of the variables
        /// adds two.
        public var steps = 10_000_000
        /// Of the thread's processor time.
        public var seconds = 10.0
        /// Bytes written, text captured by macros and blocks included.
        public var outputBytes = 64 << 20

        public init() {}
    }

    private let parsed: ParsedTemplate

    /// Parses `source`, so that rendering need not.
    public init(_ source: String) throws(TemplateError) {
        parsed = try Parser.parse(source)
    }

    /// Used for a model whose file has no template: ChatML.
    ///
    /// Each message is `<|im_start|>ROLE`, a newline, the content, `<|im_end|>` and a newline; with
    /// `add_generation_prompt` the line `<|im_start|>assistant` follows. There are no tools and no default system
    /// message. Content given in parts contributes its parts of type `text`.
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

    /// Renders the template. Cancelling the task ends it, with an error.
    ///
    /// - Parameters:
    ///   - variables: What the template can name: `messages`, `tools`, `add_generation_prompt`, `bos_token` …
    ///   - now: The time that `strftime_now` prints, in the local time zone; nil is the current time.
    public func render(
        _ variables: TemplateObject, limits: Limits = Limits(), now: Date? = nil
    ) throws(TemplateError) -> String {
        let renderer = Renderer(symbols: parsed.symbols, limits: limits, now: now)
        defer { renderer.tearDown() }
        return try renderer.render(parsed.body, variables)
    }
}
