import Foundation
import LocalLLM
import Synchronization
import Wire

/// The model that this server serves, by every name a client may use, and its engine once that is loaded.
final class ServedModel: Sendable {
    /// The alias, or else the file's name without its extension.
    let card: ModelCard
    private let fileName: String
    private let fileStem: String
    private let loaded = Mutex<(any ChatEngine)?>(nil)

    init(file: URL, alias: String?) {
        fileName = file.lastPathComponent
        fileStem = file.deletingPathExtension().lastPathComponent
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        let created = attributes?[.modificationDate] as? Date ?? Date()
        card = ModelCard(id: alias ?? fileStem, created: Int(created.timeIntervalSince1970), ownedBy: "local")
    }

    func finishLoading(_ engine: any ChatEngine) { loaded.withLock { $0 = engine } }

    var isLoaded: Bool { loaded.withLock { $0 != nil } }

    /// The engine, or a 503 that clients repeat by themselves.
    func engine() throws(APIError) -> any ChatEngine {
        guard let engine = loaded.withLock({ $0 }) else {
            throw APIError(
                status: 503, kind: .server, message: "The model is still loading; try again in a moment.",
                code: "model_loading")
        }
        return engine
    }

    /// Refuses a name that is not this model's. An answer from another model than the one asked for helps nobody.
    func check(_ name: String) throws(APIError) {
        var names = [card.id, fileName, fileStem]
        if let engine = loaded.withLock({ $0 }) { names.append(engine.info.name) }
        guard names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else {
            throw APIError(
                status: 404, kind: .invalidRequest,
                message: "The model `\(name)` does not exist here. This server serves `\(card.id)`.", param: "model",
                code: "model_not_found")
        }
    }
}
