import Testing

@testable import Wire

@Suite struct RequestTests {
    @Test func `every field is read under OpenAI's name, and unknown ones are ignored`() throws {
        let request = try decode(
            """
            {\(minimal), "temperature": 0.5, "top_p": 1, "presence_penalty": -2, "frequency_penalty": 2, "seed": -7,
             "logit_bias": {"5": -100, "7": 1.5}, "max_tokens": 3, "max_completion_tokens": 4, "stop": ["a", "b"],
             "stream": true, "stream_options": {"include_usage": true, "x": 1}, "n": 1, "top_k": 40, "min_p": 0.1,
             "typical_p": 0.9, "repeat_penalty": 1.1, "repetition_penalty": 1.2, "user": "u", "metadata": {"a": "b"},
             "store": true, "service_tier": "auto", "unheard_of": [1, {"x": null}]}
            """)
        #expect(request.model == "m")
        #expect(request.messages.map { $0.content?.text } == ["hi"])
        let expected: [(String, SamplingFields.Value)] = [
            ("temperature", .number(0.5)), ("top_p", .number(1)), ("presence_penalty", .number(-2)),
            ("frequency_penalty", .number(2)), ("seed", .count(-7)), ("max_tokens", .count(3)),
            ("max_completion_tokens", .count(4)), ("stop", .texts(["a", "b"])), ("top_k", .count(40)),
            ("min_p", .number(0.1)), ("typical_p", .number(0.9)), ("repeat_penalty", .number(1.1)),
            ("repetition_penalty", .number(1.2)),
        ]
        for (name, value) in expected { #expect(request.sampling.value(spelled: name) == value, "\(name)") }
        #expect(request.sampling.value(spelled: "logit_bias")?.biases?.byID == [5: -100, 7: 1.5])
        #expect(request.stream == true)
        #expect(request.streamOptions?.includeUsage == true)
    }

    @Test func `of several names of a field the first one of the table counts`() throws {
        let request = try decode(
            "{\(minimal), \"repeat_penalty\": 1.1, \"repetition_penalty\": 1.2, \"max_tokens\": 3, \"max_completion_tokens\": 4}"
        )
        let penalty = try #require(SamplingField.named("repeat_penalty"))
        #expect(request.sampling[penalty] == .number(1.2))
        #expect(request.sampling.maximumTokens == 4)
    }

    @Test func `null is the same as absent`() throws {
        let names = [
            "temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "logit_bias", "max_tokens",
            "max_completion_tokens", "stop", "stream", "stream_options", "n", "top_k", "min_p", "typical_p",
            "repeat_penalty", "repetition_penalty", "tools", "tool_choice", "functions", "function_call",
            "response_format", "logprobs", "top_logprobs", "modalities", "audio", "verbosity", "web_search_options",
            "chat_template_kwargs", "reasoning_effort",
        ]
        let request = try decode("{\(minimal), \(names.map { "\"\($0)\": null" }.joined(separator: ", "))}")
        for field in SamplingField.all { #expect(request.sampling[field] == nil) }
        #expect(refusal(#"{"model":null,"messages":[]}"#)?.param == "messages")
        #expect(refusal(#"{"model":"m","messages":[{"role":"user","content":null}]}"#)?.param == "messages[0].content")
    }

    @Test(arguments: [
        #""tools": []"#, #""functions": []"#, #""tool_choice": "auto""#, #""tool_choice": "none""#,
        #""response_format": {"type": "text"}"#, #""logprobs": false"#, #""top_logprobs": 0"#,
        #""modalities": ["text"]"#, #""stop": []"#, #""stop": "x""#,
        #""stop": "# + Array(repeating: "a", count: 64).description,
        #""max_tokens": 0"#, #""max_tokens": -1"#, #""max_completion_tokens": -1"#, #""n_predict": 0"#,
        #""seed": 9223372036854775807"#, #""seed": -9223372036854775808"#, #""max_tokens": 5.0"#, #""top_k": -1"#,
        #""logprobs": true"#, #""logprobs": true, "top_logprobs": 20"#, #""n": 16"#, #""verbosity": "medium""#,
        #""verbosity": "low""#, #""verbosity": "high""#,
        #""add_generation_prompt": true, "continue_final_message": false"#,
        #""prediction": {"type": "content", "content": "x"}"#, #""reasoning_effort": "high""#,
        #""chat_template_kwargs": {"enable_thinking": false}"#,
        #""continue_final_message": true"#, #""add_generation_prompt": false"#, #""min_tokens": 0"#, #""mirostat": 2"#,
        #""n_predict": -1"#, #""stop_token_ids": [1, 2]"#, #""ignore_eos": true"#, #""top_n_sigma": -1"#,
        #""use_beam_search": false, "bad_words": [], "skip_special_tokens": true, "truncate_prompt_tokens": null"#,
        #""logit_bias": [[5, -1.5], [6, false], [" x", 1]]"#, #""logit_bias": {"x": 1, "5": false}"#, #""regex": "a+""#,
        #""include_reasoning": false"#, #""reasoning_format": "none""#, #""parse_tool_calls": true"#,
        #""temperature": 2"#, #""parallel_tool_calls": true"#, #""stream": false, "stream_options": null"#,
    ])
    func `allowed`(_ field: String) { #expect(refusal("{\(minimal), \(field)}") == nil) }

    @Test(arguments: [
        ("temperature", "2.1"), ("temperature", "-0.1"), ("top_p", "1.01"), ("presence_penalty", "-2.1"),
        ("frequency_penalty", "2.1"), ("min_p", "2"), ("typical_p", "-1"), ("repeat_penalty", "0"),
        ("repetition_penalty", "-1"), ("top_k", "-2"), ("max_tokens", "-2"), ("max_completion_tokens", "-2"),
        ("n", "0"), ("n", "17"), ("stop", Array(repeating: "a", count: 65).description), ("stop", #""""#),
        ("stop", #"["a",""]"#),
        ("logit_bias", #"{"": 1}"#), ("logit_bias", #"{"-1": 1}"#), ("logit_bias", #"{"4294967296": 1}"#),
        ("stream_options", "{}"), ("parallel_tool_calls", "1"), ("response_format", #"{"type":"xml"}"#),
        ("response_format", #""text""#), ("grammar", "1"), ("guided_choice", #""a""#),
        ("logprobs", "2"), ("top_logprobs", "5"), ("top_logprobs", "21"), ("top_logprobs", "-1"),
        ("verbosity", #""chatty""#), ("web_search_options", "{}"), ("chat_template_kwargs", "[]"),
        ("modalities", #"["text","audio"]"#), ("audio", "{}"),
        ("n_predict", "-2"), ("min_tokens", "-1"), ("mirostat", "3"), ("mirostat_tau", "-1"), ("xtc_probability", "2"),
        ("xtc_threshold", "-1"), ("dry_multiplier", "-1"), ("dry_base", "0.5"), ("dry_allowed_length", "0"),
        ("dry_penalty_last_n", "-2"), ("dry_sequence_breakers", #""x""#), ("dynatemp_range", "-1"),
        ("repeat_last_n", "-2"), ("stop_token_ids", #""x""#), ("reasoning_effort", #""bogus""#),
        ("use_beam_search", "true"), ("reasoning_format", #""deepseek-legacy""#), ("parse_tool_calls", "false"),
        ("bad_words", #"["x"]"#), ("allowed_token_ids", "[1]"), ("lora", "7"),
        ("truncate_prompt_tokens", "3"), ("prompt_logprobs", "1"), ("skip_special_tokens", "false"),
        ("seed", "1.5"), ("seed", "9223372036854775808"), ("seed", #""x""#), ("max_tokens", #""5""#),
        ("temperature", #""hot""#), ("stream", "1"), ("stop", "5"), ("modalities", #""text""#),
    ])
    func `refused, naming the field`(_ field: String, _ value: String) {
        let error = refusal("{\(minimal), \"\(field)\": \(value)}")
        #expect(error?.status == 400)
        #expect(error?.kind == .invalidRequest)
        #expect(error?.param == field)
        #expect(error?.message.contains(field) == true)
    }

    @Test(arguments: [
        (#"{"model":"m","messages":[]}"#, "messages"),
        (#"{"model":"m"}"#, "messages"),
        (#"{"model":"m","messages":[{"content":"x"}]}"#, "messages[0].role"),
        (
            #"{"model":"m","messages":[{"role":"user","content":"x"},{"role":"wizard","content":"x"}]}"#,
            "messages[1].role"
        ),
        (#"{"model":"m","messages":[{"role":"tool","content":"x"}]}"#, "messages[0].tool_call_id"),
        (#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{}]}]}"#, "messages[0].tool_calls[0].id"),
        (
            #"{"model":"m","messages":[{"role":"user","content":"x","tool_calls":[{"id":"c"}]}]}"#,
            "messages[0].tool_calls"
        ),
        (#"{"model":"m","messages":[{"role":"user"}]}"#, "messages[0].content"),
        (#"{"model":"m","messages":[{"role":"assistant","audio":{"id":"a"}}]}"#, "messages[0].audio"),
        (
            #"{"model":"m","messages":[{"role":"assistant","content":[{"type":"refusal"}]}]}"#,
            "messages[0].content[0].refusal"
        ),
        (#"{"model":"m","messages":[{"role":"user","content":7}]}"#, "messages[0].content"),
        (#"{"model":"m","messages":[{"role":"user","content":["x"]}]}"#, "messages[0].content[0]"),
        (#"{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}"#, "messages[0].content[0].text"),
        (
            #"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":5}]}]}"#,
            "messages[0].content[0].text"
        ),
        (
            #"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url"}]}]}"#,
            "messages[0].content[1].type"
        ),
        (
            #"{"model":"m","messages":[{"role":"user","content":"x"}],"prediction":{"type":"x","content":"y"}}"#,
            "prediction.type"
        ),
        (
            #"{"model":"m","messages":[{"role":"user","content":"x"}],"prediction":{"type":"content","content":[{"type":"text"}]}}"#,
            "prediction.content[0]"
        ),
        (#"{"model":"m","messages":[{"role":"user","content":"x"}],"prediction":"y"}"#, "prediction"),
        (#"{"model":"m","messages":[{"role":"user","content":"x","images":["aGk="]}]}"#, "messages[0].images"),
        (#"{"model":"m","messages":"hi"}"#, "messages"),
        (#"{"model":"m","messages":["hi"]}"#, "messages[0]"),
    ])
    func `messages and predictions that cannot be`(_ body: String, _ path: String) {
        #expect(refusal(body)?.status == 400)
        #expect(refusal(body)?.param == path)
    }

    @Test func `text parts are joined by line breaks`() throws {
        let request = try decode(
            #"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a "},{"type":"text","text":"b"}]}]}"#
        )
        #expect(request.messages[0].content?.text == "a \nb")
    }

    @Test func `an assistant's message may be empty, refused, or have thoughts`() throws {
        let request = try decode(
            """
            {"model":"m","messages":[{"role":"assistant"},{"role":"assistant","content":null,"refusal":"No."},
             {"role":"assistant","content":[{"type":"refusal","refusal":"Never."}],"reasoning_content":"Hm"},
             {"role":"user","name":"Ann","content":"x","reasoning":"Oh"}]}
            """)
        #expect(request.messages.map(\.text) == ["", "No.", "Never.", "x"])
        #expect(request.messages.map(\.reasoningContent) == [nil, nil, "Hm", nil])
        #expect(request.messages.map(\.reasoning) == [nil, nil, nil, "Oh"])
        #expect(request.messages[3].name == "Ann")
    }

    @Test func `a call's arguments may be null, absent or an object, and a tool's result empty`() throws {
        let calls = [#""arguments":null"#, #""x":1"#, #""arguments":{"b": [1], "a":2}"#, #""arguments":"{}""#].map {
            #"{"id":"c","type":"function","function":{"name":"f",\#($0)}}"#
        }
        let request = try decode(
            """
            {"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[\(calls.joined(separator: ","))]},
             {"role":"tool","tool_call_id":"c","content":null},{"role":"tool","tool_call_id":"c"}]}
            """)
        let arguments = request.messages[0].toolCalls?.map { $0.function?.arguments }
        #expect(arguments == [nil, nil, #"{"b":[1],"a":2}"#, "{}"])
        #expect(request.messages.map(\.text) == ["", "", ""])
        let number =
            #"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":5}}]}]}"#
        #expect(refusal(number)?.param == "messages[0].tool_calls[0].function.arguments")
    }

    @Test func `a wrong type names what was expected and what was found`() {
        #expect(refusal(#"{"model":5,"messages":[]}"#)?.message == "model: expected a string, found a number")
        #expect(
            refusal("{\(minimal), \"stop\": [\"a\", {}]}")?.message == "stop[1]: expected a string, found an object")
        #expect(
            refusal("{\(minimal), \"stream\": \"yes\"}")?.message == "stream: expected true or false, found a string")
        #expect(
            refusal("{\(minimal), \"seed\": 1.5}")?.message == "seed: expected a whole number of 64 bits, found 1.5")
        #expect(refusal(#"{"model":"m","messages":{}}"#)?.message == "messages: expected an array, found an object")
        #expect(refusal("[]")?.message == "The body: expected an object, found an array")
    }
}
