/// Minimal chat templates, one for each format in which real templates write tool calls.
public enum SampleTemplate {
    /// - Parameters:
    ///   - thoughts: Template for `message.reasoning_content`.
    ///   - calls: Template for `message.tool_calls`.
    public static func make(
        _ calls: String, thoughts: String = "<think>\n{{ message.reasoning_content }}\n</think>\n\n"
    )
        -> String
    {
        """
        {%- for message in messages -%}
        {{- '<|im_start|>' + message.role + '\\n' -}}
        {%- if message.reasoning_content -%}\(thoughts){%- endif -%}
        {{- message.content -}}
        {%- if message.tool_calls -%}\(calls){%- endif -%}
        {{- '<|im_end|>\\n' -}}
        {%- endfor -%}
        {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
        """
    }

    public static let object = make(
        """
        {%- for c in message.tool_calls -%}{{- '\\n<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' + \
        c.function.arguments | tojson + '}\\n</tool_call>' -}}{%- endfor -%}
        """)
    public static let array = make(
        """
        {{- '[TOOL_CALLS][' -}}{%- for c in message.tool_calls -%}{{- '{"name": "' + c.function.name + '", "arguments": ' + \
        c.function.arguments | tojson + ', "id": "' + c.id + '"}' -}}{%- if not loop.last -%}{{- ', ' -}}{%- endif -%}\
        {%- endfor -%}{{- ']' -}}
        """, thoughts: "[THINK]{{ message.reasoning_content }}[/THINK]")
    public static let nameIsKey = make(
        """
        {{- '<|tools|>[' -}}{%- for c in message.tool_calls -%}{{- '{"' + c.function.name + '": ' + \
        c.function.arguments | tojson + '}' -}}{%- if not loop.last -%}{{- ', ' -}}{%- endif -%}{%- endfor -%}\
        {{- ']<|end_tools|>' -}}
        """)
    public static let bareObject = make(
        """
        {%- set c = message.tool_calls[0] -%}{{- '{"name": "' + c.function.name + '", "parameters": ' + \
        c.function.arguments | tojson + '}' -}}
        """)
    public static let header = make(
        """
        {{- '<|calls_begin|>' -}}{%- for c in message.tool_calls -%}{{- '<|call_begin|>functions.' + c.function.name + ':' + \
        loop.index0 | string + '<|args|>' + c.function.arguments | tojson + '<|call_end|>' -}}{%- endfor -%}\
        {{- '<|calls_end|>' -}}
        """)
    public static let headerWithID = make(
        """
        {%- for c in message.tool_calls -%}{{- '[TOOL_CALLS]' + c.function.name + '[CALL_ID]' + c.id + '[ARGS]' + \
        c.function.arguments | tojson -}}{%- endfor -%}
        """)
    public static let tagged = make(
        """
        {%- for c in message.tool_calls -%}{{- '<tool_call>\\n<function=' + c.function.name + '>\\n' -}}
        {%- for k, v in c.function.arguments | items -%}{{- '<parameter=' + k + '>\\n' + (v if v is string else v | tojson) + \
        '\\n</parameter>\\n' -}}{%- endfor -%}{{- '</function>\\n</tool_call>\\n' -}}{%- endfor -%}
        """)
    public static let keysAndValues = make(
        """
        {%- for c in message.tool_calls -%}{{- '<tool_call>' + c.function.name -}}
        {%- for k, v in c.function.arguments | items -%}{{- '<arg_key>' + k + '</arg_key><arg_value>' + \
        (v if v is string else v | tojson) + '</arg_value>' -}}{%- endfor -%}{{- '</tool_call>' -}}{%- endfor -%}
        """)
    public static let typed = make(
        """
        {{- '<｜DSML｜calls>\\n' -}}{%- for c in message.tool_calls -%}{{- '<｜DSML｜invoke name="' + c.function.name + '">\\n' -}}
        {%- for k, v in c.function.arguments | items -%}{{- '<｜DSML｜parameter name="' + k + '" string="' + \
        ('true' if v is string else 'false') + '">' + (v if v is string else v | tojson) + '</｜DSML｜parameter>\\n' -}}\
        {%- endfor -%}{{- '</｜DSML｜invoke>\\n' -}}{%- endfor -%}{{- '</｜DSML｜calls>' -}}
        """)
    public static let elements = make(
        """
        {{- '<calls>' -}}{%- for c in message.tool_calls -%}{{- '<invoke name="' + c.function.name + '">' -}}
        {%- for k, v in c.function.arguments | items -%}{{- '<' + k + '>' + (v if v is string else v | tojson) + \
        '</' + k + '>' -}}{%- endfor -%}{{- '</invoke>' -}}{%- endfor -%}{{- '</calls>' -}}
        """)
    public static let pythonic = make(
        """
        {{- '<|tool_call_start|>[' -}}{%- for c in message.tool_calls -%}{{- c.function.name + '(' -}}
        {%- for k, v in c.function.arguments | items -%}{{- k + '=' + (("'" + v + "'") if v is string else v | string) -}}\
        {%- if not loop.last -%}{{- ', ' -}}{%- endif -%}{%- endfor -%}{{- ')' -}}\
        {%- if not loop.last -%}{{- ', ' -}}{%- endif -%}{%- endfor -%}{{- ']<|tool_call_end|>' -}}
        """)
    public static let quoted = make(
        """
        {%- for c in message.tool_calls -%}{{- '<|tool_call>call:' + c.function.name + '{' -}}
        {%- for k, v in c.function.arguments | items -%}{{- k + ':' + (('<|"|>' + v + '<|"|>') if v is string else v | tojson) -}}\
        {%- if not loop.last -%}{{- ',' -}}{%- endif -%}{%- endfor -%}{{- '}<tool_call|>' -}}{%- endfor -%}
        """, thoughts: "<|channel>thought\n{{ message.reasoning_content }}\n<channel|>")
    /// Reasoning, content and calls are separate messages.
    public static let channels = """
        {%- for message in messages -%}
        {%- if message.role == 'user' -%}{{- '<|begin|>user<|content|>' + message.content + '<|end|>' -}}
        {%- else -%}
        {%- if message.reasoning -%}{{- '<|begin|>assistant<|think|>' + message.reasoning + '<|end|>' -}}{%- endif -%}
        {%- if message.content -%}{{- '<|begin|>assistant<|content|>' + message.content + '<|end|>' -}}{%- endif -%}
        {%- if message.tool_calls -%}{{- '<|begin|>assistant<|tool_calls|>' -}}{%- for c in message.tool_calls -%}
        {{- '<|tool_call:begin|>' + c.id + '<|tool_call:name|>' + c.function.name + '<|tool_call:args|>' + \
        c.function.arguments | tojson + '<|tool_call:end|>' -}}{%- endfor -%}{{- '<|calls|>' -}}{%- endif -%}
        {%- endif -%}{%- endfor -%}
        {%- if add_generation_prompt -%}{{- '<|begin|>assistant' -}}{%- endif -%}
        """

    public static let all: [(name: String, source: String)] = [
        ("object", object), ("array", array), ("nameIsKey", nameIsKey), ("bareObject", bareObject), ("header", header),
        ("headerWithID", headerWithID), ("tagged", tagged), ("keysAndValues", keysAndValues), ("typed", typed),
        ("elements", elements), ("pythonic", pythonic), ("quoted", quoted), ("channels", channels),
    ]
}
