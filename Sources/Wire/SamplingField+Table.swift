import JSON

extension SamplingField {
    private static let int32 = Int64(Int32.max)
    private static let probability = Kind.number(0...1)

    /// The table. A field of a sampler that needs another one comes after it.
    ///
    /// Names, ranges and defaults: OpenAI's and Anthropic's API references, llama.cpp's server, vLLM's "Sampling
    /// Parameters".
    package static let all: [SamplingField] = sampling + length + reports + unserved

    private static let sampling: [SamplingField] = [
        Self(
            ("temperature", .openAI), kind: .number(0...2), standard: 0.8, label: "Temperature",
            "0 always takes the most likely token after the penalties"),
        Self(
            ("top_p", .openAI), kind: probability, standard: 1, label: "Top-p",
            "most likely tokens with this total probability; 1 is off"),
        Self(
            ("top_k", .llama), kind: .count(-1...Int64.max), standard: 0, label: "Top-k",
            "this many most likely tokens; 0 and -1 are off"),
        Self(
            ("min_p", .llama), kind: probability, standard: 0.05, label: "Min-p",
            "no tokens less likely than this times the most likely one; 0 is off"),
        Self(
            ("typical_p", .llama), kind: probability, standard: 1, label: "Typical-p", isFolded: true,
            "locally typical sampling; 1 is off"),
        Self(
            ("top_n_sigma", .llama), kind: .number(-1...1e6), standard: 0,
            label: "Top-n-sigma", isFolded: true,
            "logits within this many standard deviations of the highest one; 0 or less is off"),
        Self(
            ("presence_penalty", .openAI), kind: .number(-2...2), standard: 0, label: "Presence penalty",
            isFolded: true,
            "subtracted once from the logits of tokens that were generated before"),
        Self(
            ("frequency_penalty", .openAI), kind: .number(-2...2), standard: 0, label: "Frequency penalty",
            isFolded: true,
            "subtracted from a token's logit for each time that it was generated before"),
        Self(
            ("repetition_penalty", .vLLM), ("repeat_penalty", .llama), kind: .number(0.01...100), standard: 1,
            label: "Repetition penalty", isFolded: true, "divides the logits of recent tokens; 1 is off"),
        Self(
            ("repeat_last_n", .llama), kind: .count(-1...int32), standard: 64,
            label: "Repetition window", isFolded: true,
            "number of recent tokens that the repetition penalty sees, prompt included; -1 is all"),
        Self(
            ("logit_bias", .openAI), kind: .biases(-100...100),
            "added to the logits of a token, or of all tokens of a text; `false` forbids"),
        Self(
            ("seed", .openAI), kind: .count(.min ... .max), label: "Seed",
            "same seed and request, same answer; random without one. Choice `i` has `seed + i`; on llama.cpp's routes -1 is random"
        ),
        Self(
            ("xtc_probability", .llama), kind: probability, standard: 0, label: "XTC probability", isFolded: true,
            "exclude top choices this often; 0 is off"),
        Self(
            ("xtc_threshold", .llama), kind: probability, standard: 0.1,
            label: "XTC threshold", isFolded: true,
            "least probability of the tokens that XTC excludes, but for the least likely of them"),
        Self(
            ("dry_multiplier", .llama), kind: .number(0...1e6), standard: 0, label: "DRY multiplier", isFolded: true,
            "DRY repetition penalty; 0 is off"),
        Self(
            ("dry_base", .llama), kind: .number(1...1e6), standard: 1.75, label: "DRY base", isFolded: true,
            "growth of DRY per repeated token"),
        Self(
            ("dry_allowed_length", .llama), kind: .count(1...int32), standard: 2,
            label: "DRY allowed length", isFolded: true, "length of repetitions without a penalty by DRY"),
        Self(
            ("dry_penalty_last_n", .llama), kind: .count(-1...int32), standard: -1,
            label: "DRY window", isFolded: true, "number of recent tokens that DRY sees, prompt included; -1 is all"),
        Self(
            ("dry_sequence_breakers", .llama), kind: .texts(maximum: 64), standard: ["\n", ":", "\"", "*"],
            "texts that end a repetition"),
        Self(
            ("dynatemp_range", .llama), kind: .number(0...100), standard: 0,
            label: "Dynamic range", isFolded: true, "how far the temperature deviates by entropy; 0 is off"),
        Self(
            ("dynatemp_exponent", .llama), kind: .number(0...100), standard: 1,
            label: "Dynamic exponent", isFolded: true, "exponent of the normalized entropy"),
        Self(
            ("mirostat", .llama), kind: .count(0...2), standard: 0,
            label: "Mirostat", isFolded: true, "version of Mirostat, which replaces the filters; 0 is off"),
        Self(
            ("mirostat_tau", .llama), kind: .number(0...100), standard: 5, label: "Mirostat tau", isFolded: true,
            "Mirostat's target surprise in bits"),
        Self(
            ("mirostat_eta", .llama), kind: .number(0...1), standard: 0.1, label: "Mirostat eta", isFolded: true,
            "Mirostat's learning rate"),
        Self(
            ("lora", .llama), kind: .scales,
            "scales of the server's adapters; those not named are off. Absent: the server's scales"),
    ]

    private static let length: [SamplingField] = [
        Self(
            ("max_completion_tokens", .openAI), ("max_tokens", .openAI), ("max_output_tokens", .openAI),
            ("n_predict", .llama), ("num_predict", .ollama), kind: .count(-1...Int64.max), standard: -1,
            label: "Maximum tokens",
            "most tokens to generate, reasoning included; -1: until the context is full. 0 only computes the prompt"),
        Self(
            ("min_tokens", .vLLM), kind: .count(0...int32), standard: 0, label: "Minimum tokens", isFolded: true,
            "tokens before an end token is sampled"),
        Self(("ignore_eos", .llama), kind: .flag, standard: false, "never samples the model's own end tokens"),
        Self(
            ("stop", .openAI), ("stop_sequences", .anthropic), kind: .stops(maximum: 64), standard: [],
            "texts that end the answer, of at most 4 KiB each"),
        Self(("stop_token_ids", .vLLM), kind: .tokens(maximum: 1024), "tokens that end the answer"),
        Self(
            ("reasoning_budget", .llama), ("reasoning_budget_tokens", .llama), ("thinking_budget", .qwen),
            ("thinking_budget_tokens", .llama), ("thinking_token_budget", .vLLM), kind: .count(-1...int32),
            label: "Reasoning budget", isFolded: true, "most tokens of reasoning; -1: no limit"),
    ]

    private static let reports: [SamplingField] = [
        Self(("timings_per_token", .llama), kind: .flag, isOwn: true, "whether the answer has `timings`"),
        Self(
            ("return_progress", .llama), kind: .flag, isOwn: true,
            "whether a stream reports how much of the prompt has been computed (`prompt_progress`)"),
        Self(
            ("cache_salt", .vLLM), kind: .text(bytes: 1...256), isOwn: true,
            "shares cached prefixes only with requests of the same salt and client"),
        Self(
            ("id_slot", .llama), kind: .count(-1...63), standard: 0, isOwn: true,
            "slot that gets the text of prompt and answer, for `/slots`; -1 is the first, too. Not with `cache_salt`"),
    ]

    private static func unserved(_ api: API, _ name: String, _ idle: JSON..., but condition: String = "") -> Self {
        Self((name, api), kind: .unserved(idle: idle), condition)
    }

    private static let unserved: [SamplingField] = [
        unserved(.vLLM, "allowed_token_ids"), unserved(.vLLM, "bad_words"), unserved(.vLLM, "use_beam_search"),
        unserved(.vLLM, "length_penalty", 1), unserved(.vLLM, "early_stopping"),
        unserved(.vLLM, "truncate_prompt_tokens"), unserved(.vLLM, "prompt_logprobs"),
        unserved(.vLLM, "logits_processors"), unserved(.vLLM, "include_stop_str_in_output"),
        unserved(.vLLM, "skip_special_tokens", true), unserved(.vLLM, "spaces_between_special_tokens", true),
        unserved(.vLLM, "add_special_tokens", true), unserved(.vLLM, "return_tokens_as_token_ids"),
        unserved(.vLLM, "return_token_ids"), unserved(.vLLM, "guided_whitespace_pattern"),
        unserved(.vLLM, "documents"), unserved(.vLLM, "prompt_embeds"), unserved(.vLLM, "vllm_xargs"),
        unserved(.vLLM, "kv_transfer_params"),
        unserved(.llama, "min_keep", 0, 1), unserved(.llama, "adaptive_target", -1), unserved(.llama, "n_indent", 0),
        unserved(.llama, "grammar_lazy"), unserved(.llama, "grammar_triggers"),
        unserved(.llama, "t_max_predict_ms", 0, -1),
        unserved(.llama, "post_sampling_probs", but: "except in `/completion` and `/infill`"),
        unserved(.llama, "image_data"), unserved(.llama, "n_cache_reuse", 0),
        unserved(.llama, "parse_tool_calls", true),
        unserved(
            .llama, "samplers",
            ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"], "edskypmxt",
            but: "in another order"),
    ]
}
