import CommandLineParsing
import Foundation
import HTTP
import JSON
import Wire

/// HTTP client of a running server, for `shim ps` and `shim stop`.
struct RunningServer {
    static let options = [
        Option("--url", value: "URL", help: "server URL (default http://127.0.0.1:8080)"),
        Option("--api-key-file", value: "FILE", help: "file with the API key (default: $LOCALLLM_API_KEY)"),
    ]

    private let client: HTTPClient
    private let address: String
    private let key: String?

    init(_ arguments: Arguments, environment: [String: String]) throws {
        address = arguments.string("--url") ?? "http://127.0.0.1:8080"
        var limits = HTTPClient.Limits()
        limits.silence = .seconds(30)
        guard let url = URLComponents(string: address), ["", "/"].contains(url.path),
            let client = try HTTPClient(url, limits: limits)
        else { throw UsageError("--url: expected a URL such as http://127.0.0.1:8080, found '\(address)'") }
        self.client = client
        key =
            try arguments.string("--api-key-file").map { try APIKeys.keys(in: $0, for: "--api-key-file")[0] }
            ?? environment["LOCALLLM_API_KEY"]
    }

    /// `shim ps`: one line per loaded or loading model, below a header.
    func models() async throws -> String {
        let cards = try JSON.decode(ModelList.self, from: try await ask("GET", "/v1/models")).data
        // Adapters share the memory of their model.
        let rows = cards.filter { $0.parent == nil }.compactMap { card -> [String]? in
            switch card.state {
            case .loaded: [card.id, card.meta.map { size($0.size) } ?? "-", "loaded"]
            case .loading:
                [card.id, card.meta.map { size($0.size) } ?? "-", "loading, \(Int((card.progress ?? 0) * 100)) %"]
            case .unloaded, .failed, nil: nil
            }
        }
        return rows.isEmpty ? "no model is loaded" : table([["NAME", "SIZE", "STATE"]] + rows)
    }

    /// `shim stop NAME`: unloads a model.
    func unload(_ name: String) async throws {
        _ = try await ask("POST", "/models/unload", JSON.encode(["model": name]))
    }

    private func ask(_ method: String, _ path: String, _ body: [UInt8] = []) async throws -> [UInt8] {
        var headers: Headers = ["Content-Type": "application/json", "User-Agent": "shim/\(version)"]
        headers["Authorization"] = key.map { "Bearer \($0)" }
        let response: ClientResponse
        do {
            response = try await client.send(method, path, headers: headers, body: body)
        } catch ClientError.notConnected(let reason) {
            throw PullError("No server at \(address): \(reason). Start one with `shim`, or set --url.")
        }
        let bytes = try await response.body(upTo: 16 << 20)
        guard response.status == 200 else {
            let error = try? JSON.decode(ErrorBody.self, from: bytes).error.message
            throw PullError("The server at \(address) refused the request: \(error ?? "status \(response.status)")")
        }
        return bytes
    }
}
