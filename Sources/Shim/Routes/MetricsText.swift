import Foundation
import HTTP
import LocalLLM

/// `GET /metrics`, in the text format of Prometheus (version 0.0.4).
@Sendable func showMetrics(_ context: RequestContext, _ services: Services) -> Response {
    Response(
        status: 200, headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
        body: .bytes(Array(metricsText(services).utf8)))
}

func metricsText(_ services: Services) -> String {
    let scrape = MetricFamily.Scrape(services)
    return MetricFamily.all.map { $0.text(scrape) }.joined()
}

/// A metric of the server: its name, type, help and labels, and how its samples are read.
struct MetricFamily: Sendable {
    enum Kind: String, Sendable { case counter, gauge, histogram }

    /// What samples are read from.
    struct Scrape: Sendable {
        let services: Services
        let values: Metrics.Values
        /// The counts of each model, also of those that have answered nothing, by id.
        let models: [(id: String, counts: Metrics.ModelCounts)]
        /// The activity of each model; of those that are not loaded, nothing.
        let activities: [(id: String, activity: ModelActivity?)]
        /// Requests of each model that wait: in its queue, or until it is loaded.
        let waiting: [(id: String, requests: Int)]
        /// Names of all adapters, of those that can answer, and of those that are waited for.
        let adapters: (all: [String], loaded: [String], awaited: [String])

        init(_ services: Services) {
            self.services = services
            let values = services.metrics.values
            self.values = values
            let served = services.models.models
            let ids = Set(served.map(\.file.id)).union(values.models.keys).sorted()
            models = ids.map { ($0, values.models[$0] ?? .init()) }
            let activities = served.map { ($0.file.id, $0.loaded?.activity) }
            self.activities = activities
            waiting = zip(served, activities).map { ($0.file.id, $0.waiting + ($1.1?.waiting ?? 0)) }
            func adapters(_ models: [ServedModel]) -> [String] {
                models.flatMap { services.models.adapters(of: $0).map(\.modelName) }
            }
            self.adapters = (
                adapters(served), adapters(served.filter { $0.loaded != nil }),
                adapters(served.filter { $0.loaded == nil && $0.waiting > 0 })
            )
        }
    }

    struct Sample: Sendable {
        var suffix = ""
        var labels: [(name: String, value: String)]
        var value: String
    }

    let name: String
    let kind: Kind
    let help: String
    let labels: [String]
    let samples: @Sendable (Scrape) -> [Sample]

    private init(
        _ name: String, prefix: String = "shim_", _ kind: Kind, _ help: String, labels: [String] = [],
        samples: @escaping @Sendable (Scrape) -> [Sample]
    ) {
        self.name = prefix + name
        (self.kind, self.help, self.labels, self.samples) = (kind, help, labels, samples)
    }

    /// A number for each model.
    private init(
        _ name: String, _ kind: Kind, _ help: String,
        _ count: @escaping @Sendable (Metrics.ModelCounts) -> Int
    ) {
        self.init(name, kind, help, labels: ["model"]) { scrape in
            scrape.models.map { Sample(labels: [("model", $0.id)], value: "\(count($0.counts))") }
        }
    }

    static let all = own + forRouters

    private static let own = [
        MetricFamily(
            "requests_total", .counter, "Requests answered, by route and status.", labels: ["route", "status"]
        ) { scrape in
            scrape.values.requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }.map {
                Sample(labels: [("route", $0.key.route), ("status", "\($0.key.status)")], value: "\($0.value)")
            }
        },
        MetricFamily(
            "answers_total", .counter, "Requests for generations, by the engine that answered.", labels: ["engine"]
        ) { scrape in
            scrape.values.engines.sorted { $0.key < $1.key }.map {
                Sample(labels: [("engine", $0.key)], value: "\($0.value)")
            }
        },
        MetricFamily(
            "upstream_circuit", .gauge, "State of the upstream circuit breaker: 1 for the current state.",
            labels: ["state"]
        ) { scrape in
            guard let circuit = scrape.services.upstream?.circuit.name else { return [] }
            return ["closed", "half-open", "open"].map {
                Sample(labels: [("state", $0)], value: $0 == circuit ? "1" : "0")
            }
        },
        MetricFamily("prompt_tokens_total", .counter, "Prompt tokens.") { $0.promptTokens },
        MetricFamily("cached_tokens_total", .counter, "Prompt tokens found in the prefix cache.") { $0.cachedTokens },
        MetricFamily("generated_tokens_total", .counter, "Tokens generated.") { $0.generatedTokens },
        MetricFamily("drafted_tokens_total", .counter, "Draft tokens of speculative decoding.") { $0.draftedTokens },
        MetricFamily("accepted_tokens_total", .counter, "Draft tokens that were accepted.") { $0.acceptedTokens },
        MetricFamily("generations_running", .gauge, "Choices in generation.") { $0.running },
        MetricFamily(
            "generations_waiting", .gauge, "Choices without a first token: queued or in prefill."
        ) { $0.waiting },
        MetricFamily(
            "remembered_tokens", .gauge, "Tokens in the KV cache, in use or cached.", labels: ["model"]
        ) { scrape in
            scrape.activities.map { Sample(labels: [("model", $0.id)], value: "\($0.activity?.cachedTokens ?? 0)") }
        },
        MetricFamily(
            "cache_bytes", .gauge, "Bytes of the server's caches; those of responses have no model.",
            labels: ["cache", "model"]
        ) { scrape in
            func samples(_ cache: String, _ bytes: (ModelActivity) -> Int) -> [Sample] {
                scrape.activities.map {
                    Sample(
                        labels: [("cache", cache), ("model", $0.id)], value: "\($0.activity.map(bytes) ?? 0)")
                }
            }
            return samples("constraints", \.constraintBytes)
                + [Sample(labels: [("cache", "responses")], value: "\(scrape.services.responses.bytes)")]
                + samples("states", \.stateBytes)
        },
        MetricFamily(
            "time_to_first_token_seconds", .histogram, "Time to the first token of a choice.", labels: ["model"]
        ) { scrape in
            scrape.models.flatMap { samples(of: $0.counts.secondsToFirstToken, [("model", $0.id)]) }
        },
        MetricFamily(
            "request_duration_seconds", .histogram, "Time to the end of the answer, streamed or not."
        ) { scrape in
            samples(of: scrape.values.requestSeconds, [])
        },
        MetricFamily("build_info", .gauge, "Version of the server.", labels: ["version"]) { _ in
            [Sample(labels: [("version", version)], value: "1")]
        },
    ]

    /// What the endpoint picker of the Gateway API Inference Extension reads, under the names that it looks for if it is not
    /// told others: those of vLLM.
    private static let forRouters = [
        gaugeForRouters("num_requests_running", "Choices being computed.") { scrape in
            scrape.activities.map { ($0.id, "\($0.activity?.running ?? 0)") }
        },
        gaugeForRouters("num_requests_waiting", "Choices in the queue, and requests that wait for the model to load.") {
            scrape in
            scrape.waiting.map { ($0.id, "\($0.requests)") }
        },
        gaugeForRouters("kv_cache_usage_perc", "Share of the KV cache's memory that running choices need, 0 to 1.") {
            scrape in
            scrape.activities.map { ($0.id, "\($0.activity?.cacheUse ?? 0)") }
        },
        MetricFamily(
            "cache_config_info", prefix: "vllm:", .gauge,
            "1, with the tokens of a block of the KV cache, the unit of common prefixes, and how many blocks there is room for.",
            labels: ["block_size", "model_name", "num_gpu_blocks"]
        ) { scrape in
            scrape.activities.compactMap { id, activity in
                activity.map {
                    Sample(
                        labels: [
                            ("block_size", "\(ModelActivity.blockTokens)"), ("model_name", id),
                            ("num_gpu_blocks", "\($0.cacheBlocks)"),
                        ], value: "1")
                }
            }
        },
        MetricFamily(
            "lora_requests_info", prefix: "vllm:", .gauge,
            "The time, with the names of the adapters of loaded models and of models that are waited for.",
            labels: ["max_lora", "running_lora_adapters", "waiting_lora_adapters"]
        ) { scrape in
            let (all, loaded, awaited) = scrape.adapters
            guard !all.isEmpty else { return [] }
            // A name with a comma would be read as two.
            func list(_ names: [String]) -> String { names.filter { !$0.contains(",") }.joined(separator: ",") }
            return [
                Sample(
                    labels: [
                        ("max_lora", "\(all.count)"), ("running_lora_adapters", list(loaded)),
                        ("waiting_lora_adapters", list(awaited)),
                    ], value: "\(Date.now.timeIntervalSince1970)")
            ]
        },
    ]

    private static func gaugeForRouters(
        _ name: String, _ help: String, _ values: @escaping @Sendable (Scrape) -> [(id: String, value: String)]
    ) -> MetricFamily {
        MetricFamily(name, prefix: "vllm:", .gauge, help, labels: ["model_name"]) { scrape in
            values(scrape).map { Sample(labels: [("model_name", $0.id)], value: $0.value) }
        }
    }

    private static func samples(
        of histogram: Metrics.Histogram, _ labels: [(name: String, value: String)]
    ) -> [Sample] {
        let bounds = histogram.bounds.map { "\($0)" } + ["+Inf"]
        return zip(bounds, histogram.counts + [histogram.count]).map {
            Sample(suffix: "_bucket", labels: labels + [("le", $0)], value: "\($1)")
        } + [
            Sample(suffix: "_sum", labels: labels, value: "\(histogram.sum)"),
            Sample(suffix: "_count", labels: labels, value: "\(histogram.count)"),
        ]
    }

    fileprivate func text(_ scrape: Scrape) -> String {
        var text = "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples(scrape) {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
            text += "\(name)\(sample.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
        }
        return text
    }

    /// The name of a model's file may have any character.
    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
