import Foundation
import JSON
import Wire

/// Caches the upstream's model list, for `GET /v1/models`.
actor UpstreamModels {
    /// Time until a list, or after a failure the next attempt, is fetched again: `freshness` and `patience`.
    private static let freshness: Duration = .seconds(300)
    private static let patience: Duration = .seconds(30)
    private static let mostModels = 2000

    private var known: [ModelCard] = []
    private var nextLook: ContinuousClock.Instant?
    private var look: Task<[ModelCard]?, Never>?

    /// The cached list, fetched again if it is too old; after a failure the old one.
    ///
    /// - Parameter ask: Fetches the list from the upstream.
    func cards(_ now: ContinuousClock.Instant, asking ask: @escaping @Sendable () async -> [UInt8]?) async
        -> [ModelCard]
    {
        if let nextLook, now < nextLook { return known }
        // Concurrent callers share one fetch.
        let look = self.look ?? Task { await ask().flatMap { Self.cards(in: $0) } }
        self.look = look
        let found = await look.value
        if self.look == look {
            self.look = nil
            known = found ?? known
            nextLook = now + (found == nil ? Self.patience : Self.freshness)
        }
        return known
    }

    private static func cards(in json: [UInt8]) -> [ModelCard]? {
        let list: List? = try? JSON(parsing: json, JSON.answerLimits).decode()
        return list?.data.prefix(mostModels).map { model in
            var card = ModelCard(id: model.id, created: model.created ?? 0, ownedBy: model.ownedBy ?? "upstream")
            card.state = nil
            return card
        }
    }

    private struct List: Decodable {
        let data: [Model]
    }

    private struct Model: Decodable {
        let id: String
        let created: Int?
        let ownedBy: String?

        enum CodingKeys: String, CodingKey {
            case id, created
            case ownedBy = "owned_by"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(String.self, forKey: .id)
            created = try? container.decode(Int.self, forKey: .created)
            ownedBy = try? container.decode(String.self, forKey: .ownedBy)
        }
    }
}
