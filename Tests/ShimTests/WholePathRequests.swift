/// Bodies for every route that reads one, and what is put into them, for tests and for the fuzzer of the whole path.
enum WholePathRequests {
    /// Of answers to requests that are wrong somewhere: none is the server's own error.
    static let statuses: Set<Int> = [200, 400, 404, 405, 409, 413, 422, 429, 501, 503]

    static let seeds: [(path: String, body: String)] = [
        (
            "/v1/chat/completions",
            #"{"model":"Test-Q4","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}],"tool_choice":"auto","stream":true,"stream_options":{"include_usage":true},"n":2,"max_tokens":5,"logprobs":true,"top_logprobs":2,"seed":7,"stop":["a","bc"],"logit_bias":{"5":-1.5},"chat_template_kwargs":{"x":[1,{"y":null}]},"reasoning_effort":"low","temperature":0.5,"top_p":0.9}"#
        ),
        (
            "/v1/completions",
            #"{"model":"Test-Q4","prompt":["Hello","b"],"max_tokens":4,"echo":true,"logprobs":3,"n":2,"stop":"x","presence_penalty":1,"frequency_penalty":-1,"min_p":0.1,"dry_multiplier":0.5,"mirostat":2,"xtc_probability":0.5,"top_n_sigma":1,"cache_salt":"s"}"#
        ),
        ("/v1/completions", #"{"model":"Test-Q4","prompt":[[1,72,101],[5]],"max_tokens":3,"stream":true}"#),
        (
            "/v1/responses",
            #"{"model":"Test-Q4","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"instructions":"Be brief.","max_output_tokens":4,"stream":true,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"store":true,"metadata":{"a":"b"}}"#
        ),
        (
            "/v1/messages",
            #"{"model":"Test-Q4","max_tokens":4,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"stream":true,"stop_sequences":["x"]}"#
        ),
        ("/v1/embeddings", #"{"model":"Test-Q4","input":["a","bc"],"dimensions":8,"encoding_format":"base64"}"#),
        ("/v1/rerank", #"{"model":"Test-Q4","query":"a","documents":["b",{"text":"c"}],"top_n":1}"#),
        (
            "/completion",
            #"{"prompt":["a",5,"b"],"n_predict":4,"n_probs":2,"stream":true,"cache_prompt":true,"timings_per_token":true,"return_progress":true}"#
        ),
        ("/infill", #"{"input_prefix":"a","input_suffix":"b","input_extra":[{"text":"c"}],"n_predict":2}"#),
        ("/tokenize", #"{"content":"Hello","add_special":true,"with_pieces":true}"#),
        ("/detokenize", #"{"tokens":[1,72,101]}"#),
        ("/apply-template", #"{"messages":[{"role":"user","content":"Hi"}],"chat_template":"{{ messages|length }}"}"#),
        ("/api/suggest", #"{"text":"Hello, how are","maxSuggestions":2,"user":"u"}"#),
        (
            "/v1/chat/completions",
            #"{"model":"Test-Q4","messages":[{"role":"user","content":"Hi"}],"max_tokens":6,"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","minimum":0,"maximum":9},"maxItems":2},"b":{"anyOf":[{"enum":["x",null]},{"type":"string","pattern":"^[a-z]{1,3}$"}]}},"required":["a"],"additionalProperties":false}}}}"#
        ),
        ("/score", #"{"model":"Test-Q4","text_1":"a","text_2":["b","c"],"use_activation":false}"#),
        ("/pooling", #"{"model":"Test-Q4","input":["a",""],"task":"token_embed","encoding_format":"base64"}"#),
        ("/classify", #"{"model":"Test-Q4","input":[[5,6],[7]]}"#),
        ("/pooling", #"{"model":"Test-Q4","messages":[{"role":"user","content":"a"}],"add_generation_prompt":true}"#),
        ("/v2/rerank", #"{"model":"Test-Q4","query":"a","documents":["b"],"max_tokens_per_doc":3}"#),
        (
            "/v1/decisions",
            #"{"model":"Test-Q4","input":"a","questions":[{"type":"predicate","instructions":"b"},{"type":"choice","instructions":"c","name":"n","choices":[{"value":"x"},{"value":true}]},{"type":"score","instructions":"d","levels":[{"label":"l"},{"label":"m","description":"e"}]}]}"#
        ),
        (
            "/v1/decisions",
            #"{"model":"Test-Q4","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_json","json":{"b":[1]}}]}],"questions":[{"type":"predicate","instructions":"c"}]}"#
        ),
        (
            "/api/chat",
            #"{"model":"Test-Q4","messages":[{"role":"user","content":"a"}],"stream":false,"think":false,"format":"json","options":{"num_predict":2,"temperature":0},"keep_alive":"5m"}"#
        ),
        (
            "/api/generate",
            #"{"model":"Test-Q4:latest","prompt":"a","raw":true,"options":{"num_predict":2,"stop":["b"]}}"#
        ),
        ("/api/embed", #"{"model":"Test-Q4","input":["a"],"truncate":true,"dimensions":4}"#),
        ("/api/show", #"{"model":"Test-Q4","verbose":true}"#),
        ("/slots/0?action=save", #"{"filename":"a.bin"}"#),
        (
            "/v1/conversations",
            #"{"items":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"metadata":{"a":"b"}}"#
        ),
        (
            "/v1/conversations/conv_1/items",
            #"{"items":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]}"#
        ),
        (
            "/v1/responses",
            #"{"model":"Test-Q4","input":"Hi","background":true,"max_output_tokens":4,"conversation":{"id":"conv_1"}}"#
        ),
        (
            "/v1/responses/compact",
            #"{"model":"Test-Q4","input":[{"role":"user","content":"a"},{"type":"compaction","encrypted_content":"localllm1:YQ=="}]}"#
        ),
        (
            "/completion",
            #"{"prompt":"a","n_predict":4,"grammar":"root ::= [a-c]+ (\"x\" | \"yz\")*","seed":1,"temperature":0.8}"#
        ),
        ("/v1/responses/input_tokens", #"{"model":"Test-Q4","input":"Hi"}"#),
        ("/v1/messages/count_tokens", #"{"model":"Test-Q4","messages":[{"role":"user","content":"Hi"}]}"#),
        ("/chatgpt", #"{"messages":[{"role":"user","content":"Hi"}],"model":"Test-Q4"}"#),
        ("/chatgpt-simple", #"{"prompt":"Hi","model":"Test-Q4"}"#),
    ]

    static let pieces = [
        "null", "true", "-1", "0", "1e999", "9223372036854775808", "1.5", "\"\"", "[]", "{}", "[[[[", "}]", ",", ":",
        #""\ud83d""#, #""\u0000""#, "{{ 1/0 }}", "{% for x in range(99999) %}", "<|im_start|>", "<s></s>", "\u{feff}",
        "\u{2028}", "e\u{301}", "\n", #"\"#, "\"stream\":false,", "\"n\":16,", "\"max_tokens\":0,",
        String(repeating: "a", count: 3000), String(repeating: "[", count: 200), String(repeating: " ", count: 500),
    ].map { Array($0.utf8) }
}
