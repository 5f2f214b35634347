/// Sample requests, printed at startup. The bundled model was trained on tools but not on JSON, so a pattern restricts
/// that answer to a sentence that it knows.
struct Demonstration {
    let title: String
    let question: String
    /// Further members of the request's JSON, each preceded by a comma.
    var fields = ""

    static let all = [
        Self(title: "Try", question: "Hello"),
        Self(
            title: "Schema", question: "What is the capital of France?",
            fields: #","response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":"#
                + object("answer", pattern: "^The capital of [A-Z][a-z]+ is [A-Z][a-z]+[.]$") + "}}"),
        Self(
            title: "Tool", question: "What is the weather in Paris?",
            fields: #","tools":[{"type":"function","function":{"name":"get_weather","description":"#
                + #""Gets the weather in a city.","parameters":{"type":"object","properties":{"city":"#
                + #"{"type":"string"}},"required":["city"]}}}]"#),
    ]

    func body(model: String) -> String {
        #"{"model":"\#(model)","temperature":0,"messages":[{"role":"user","content":"\#(question)"}]\#(fields)}"#
    }

    /// The request as a shell command.
    func line(address: String, model: String) -> String {
        title.padding(to: 9)
            + "curl \(address)/v1/chat/completions -H 'Content-Type: application/json' -d '\(body(model: model))'"
    }

    private static func object(_ property: String, pattern: String) -> String {
        #"{"type":"object","properties":{"\#(property)":{"type":"string","pattern":"\#(pattern)"}},"#
            + #""required":["\#(property)"],"additionalProperties":false}"#
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
