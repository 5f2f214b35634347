/// The chat app's endpoints. What follows one of them after a slash is the app's to choose: it is signed, and leads to the
/// same route.
enum AppEndpoint: String, CaseIterable {
    case authToken = "/auth_token"
    case chatGPT = "/chatgpt"
    case chatGPTSimple = "/chatgpt-simple"
    case dalle = "/dalle"
    case vision = "/vision"

    init?(path: String) {
        let path = path.utf8
        let endpoint = Self.allCases.first { endpoint in
            let name = endpoint.rawValue.utf8
            return path.starts(with: name) && [nil, UInt8(ascii: "/")].contains(path.dropFirst(name.count).first)
        }
        guard let endpoint else { return nil }
        self = endpoint
    }
}
