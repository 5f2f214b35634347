import HTTP
import JSON
import LocalLLM
import Wire

/// `GET /slots`: load of a model, for clients of llama.cpp's server. There is one slot per possible generation; which slot
/// computes has no meaning here. `?model=` names one of several models; with `?fail_on_no_slot=1` the status is 503 if
/// no slot is free.
@Sendable func showSlots(_ context: RequestContext, _ services: Services) throws -> Response {
    let model = try namedModel(context, services)
    let running = model.loaded?.activity.running ?? 0
    let contextSize = model.loaded?.contextSize ?? (try? model.file.info.get().trainedContextSize) ?? 0
    if running >= LocalModel.maximumRunning, let fails = context.query("fail_on_no_slot"), fails != "0" {
        throw APIError(status: 503, kind: .server, message: "No slot is free.", code: "no_slot")
    }
    return try .json(
        (0..<LocalModel.maximumRunning).map {
            Slot(id: $0, contextSize: contextSize, isProcessing: $0 < running)
        })
}

private struct Slot: Encodable {
    let id: Int
    let contextSize: Int
    let isProcessing: Bool

    enum CodingKeys: String, CodingKey {
        case id
        case contextSize = "n_ctx"
        case isProcessing = "is_processing"
    }
}

/// `POST /slots/{id}?action=save|restore|erase`: writes the states of a slot's text to a file, reads them, or forgets them, with
/// the fields of llama.cpp's server. `?model=` names one of several models.
@Sendable func changeSlot(_ context: RequestContext, _ services: Services) async throws -> Response {
    guard let slot = Int(context.parameter("id")) else {
        throw APIError.invalid("id", "expected the number of a slot, found \"\(context.parameter("id"))\"")
    }
    let actions = SlotAction.Kind.allCases.map(\.rawValue).joined(separator: ", ")
    guard let text = context.query("action") else { throw APIError.invalid("action", "expected one of \(actions)") }
    guard let action = SlotAction.Kind(rawValue: text) else {
        throw APIError.invalid("action", "expected one of \(actions), found \"\(text)\"")
    }
    let file = action == .erase ? nil : try JSON.decode(SlotAction.self, from: context.body).filename
    let name = try namedModel(context, services).file.id
    let lease = try await services.lease(name, for: context)
    return try await within(services.requestTimeout) {
        defer { withExtendedLifetime(lease) {} }
        do {
            switch action {
            case .save:
                return try .json(SlotReport(saved: try await lease.model.saveSlot(slot, as: file ?? ""), slot, file))
            case .restore:
                return try .json(
                    SlotReport(restored: try await lease.model.restoreSlot(slot, from: file ?? ""), slot, file))
            case .erase: return try .json(SlotReport(slot, erasedTokens: try await lease.model.eraseSlot(slot)))
            }
        } catch let error as SlotError {
            throw APIError(error)
        }
    }
}

extension SlotReport {
    fileprivate init(saved: SlotTransfer, _ slot: Int, _ file: String?) {
        self.init(slot, filename: file)
        (savedTokens, writtenBytes) = (saved.tokens, saved.bytes)
        timings = Timings(saveMilliseconds: saved.seconds * 1000)
    }

    fileprivate init(restored: SlotTransfer, _ slot: Int, _ file: String?) {
        self.init(slot, filename: file)
        (restoredTokens, readBytes) = (restored.tokens, restored.bytes)
        timings = Timings(restoreMilliseconds: restored.seconds * 1000)
    }
}

extension APIError {
    fileprivate init(_ error: SlotError) {
        switch error {
        case .notSupported:
            self.init(
                status: 501, kind: .server,
                message:
                    "Slots are not saved: start the server with --slot-save-path, and name a model that generates text.",
                code: "not_supported")
        case .noSuchSlot(let slot):
            self = .invalid("id", "expected a slot from 0 to \(LocalModel.maximumRunning - 1), found \(slot)")
        case .empty(let slot):
            self.init(
                status: 400, kind: .invalidRequest,
                message: "Slot \(slot) is empty: no request without cache_salt has ended in it (id_slot).", param: "id",
                code: "empty_slot")
        case .invalidName(let reason): self = .invalid("filename", reason)
        case .noSuchFile(let name):
            self.init(
                status: 400, kind: .invalidRequest, message: "filename: there is no file '\(name)' of a slot",
                param: "filename", code: "no_such_file")
        case .invalidFile(let reason):
            self.init(
                status: 400, kind: .invalidRequest, message: "filename: the file \(reason)", param: "filename",
                code: "invalid_slot_file")
        case .notWritten(let reason):
            self.init(
                status: 500, kind: .server, message: "The file of the slot cannot be written. See the server's log.",
                code: "slot_not_saved")
            cause = reason
        }
    }
}

/// The model that `?model=` names, or the only one.
func namedModel(_ context: RequestContext, _ services: Services) throws(APIError) -> ServedModel {
    if let name = context.query("model") { return try services.models.model(named: name) }
    guard let only = services.models.implied else {
        throw .init(
            status: 400, kind: .invalidRequest,
            message: "model: name one of the models, as in \(context.request.path)?model=NAME", param: "model",
            code: "invalid_value")
    }
    return only
}
