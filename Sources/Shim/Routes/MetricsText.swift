import HTTP
import LocalLLM

/// `GET /metrics`, in the text format of Prometheus (version 0.0.4).
@Sendable func showMetrics(_ context: RequestContext, _ services: Services) -> Response {
    let values = services.metrics.values
    var text = ""
    func add(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: String)]) {
        text += "# HELP shim_\(name) \(help)\n# TYPE shim_\(name) \(type)\n"
        for sample in samples { text += "shim_\(name)\(sample.labels) \(sample.value)\n" }
    }
    func add(_ name: String, _ help: String, _ histogram: Metrics.Histogram) {
        let buckets = zip(histogram.bounds, histogram.counts).map { ("_bucket{le=\"\($0)\"}", "\($1)") }
        add(
            name, "histogram", help,
            buckets + [
                ("_bucket{le=\"+Inf\"}", "\(histogram.count)"), ("_sum", "\(histogram.sum)"),
                ("_count", "\(histogram.count)"),
            ])
    }
    let requests = values.requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
    add(
        "requests_total", "counter", "Requests answered, by route and status.",
        requests.map { ("{route=\"\($0.key.route)\",status=\"\($0.key.status)\"}", "\($0.value)") })
    add(
        "answers_total", "counter", "Requests for generations, by the engine that answered.",
        values.engines.sorted { $0.key < $1.key }.map { ("{engine=\"\($0.key)\"}", "\($0.value)") })
    if let circuit = services.upstream?.circuit.name {
        add(
            "upstream_circuit", "gauge", "State of the upstream circuit breaker: 1 for the current state.",
            ["closed", "half-open", "open"].map { ("{state=\"\($0)\"}", $0 == circuit ? "1" : "0") })
    }
    add("prompt_tokens_total", "counter", "Prompt tokens.", [("", "\(values.promptTokens)")])
    add(
        "cached_tokens_total", "counter", "Prompt tokens found in the prefix cache.",
        [("", "\(values.cachedTokens)")])
    add("generated_tokens_total", "counter", "Tokens generated.", [("", "\(values.generatedTokens)")])
    add(
        "drafted_tokens_total", "counter", "Draft tokens of speculative decoding.",
        [("", "\(values.draftedTokens)")])
    add(
        "accepted_tokens_total", "counter", "Draft tokens that were accepted.",
        [("", "\(values.acceptedTokens)")])
    add("generations_running", "gauge", "Choices in generation.", [("", "\(values.running)")])
    add(
        "generations_waiting", "gauge",
        "Choices without a first token: queued or in prefill.",
        [("", "\(values.waiting)")])
    let remembered = services.models.models.reduce(0) { $0 + ($1.loaded?.activity.cachedTokens ?? 0) }
    add(
        "remembered_tokens", "gauge", "Tokens in the KV cache, in use or cached.",
        [("", "\(remembered)")])
    let activities = services.models.models.compactMap { $0.loaded?.activity }
    add(
        "cache_bytes", "gauge", "Bytes of the server's caches.",
        [
            ("{cache=\"constraints\"}", "\(activities.reduce(0) { $0 + $1.constraintBytes })"),
            ("{cache=\"responses\"}", "\(services.responses.bytes)"),
            ("{cache=\"states\"}", "\(activities.reduce(0) { $0 + $1.stateBytes })"),
        ])
    add("time_to_first_token_seconds", "Time to the first token of a choice.", values.secondsToFirstToken)
    add("request_duration_seconds", "Time to the end of the answer, streamed or not.", values.requestSeconds)
    add("build_info", "gauge", "Version of the server.", [("{version=\"\(version)\"}", "1")])
    return Response(
        status: 200, headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
        body: .bytes(Array(text.utf8)))
}
