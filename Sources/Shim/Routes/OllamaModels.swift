import Cryptography
import Dialects
import Foundation
import HTTP
import JSON
import LocalLLM
import Tokenizer
import Wire

/// The version of Ollama's API that the routes follow. Clients ask for it to know what they may use.
private let ollamaVersion = "0.13.0"

/// `GET /api/version` of Ollama's API.
@Sendable func showOllamaVersion(_ context: RequestContext, _ services: Services) throws -> Response {
    try .json(["version": ollamaVersion])
}

/// `GET /api/tags` of Ollama's API: the models whose files can be read.
@Sendable func listOllamaModels(_ context: RequestContext, _ services: Services) throws -> Response {
    services.models.rescan()
    return try .json(
        OllamaModelList(
            services.models.models.compactMap { model in
                var entry = OllamaModelList.Model(model)
                entry?.modifiedAt = model.file.modifiedAt
                return entry
            }))
}

/// `GET /api/ps` of Ollama's API: the models in memory.
@Sendable func listLoadedOllamaModels(_ context: RequestContext, _ services: Services) throws -> Response {
    try .json(
        OllamaModelList(
            services.models.models.compactMap { model in
                guard let loaded = model.loaded, var entry = OllamaModelList.Model(model) else { return nil }
                entry.expiresAt = .timestamp(model.unloadsAt ?? .distantFuture)
                entry.sizeVRAM = 0
                entry.contextLength = loaded.contextSize
                return entry
            }))
}

/// `POST /api/show` of Ollama's API: describes a model.
@Sendable func showOllamaModel(_ context: RequestContext, _ services: Services) async throws -> Response {
    let name = try JSON.decode(OllamaModelName.self, from: context.body).model
    let model = try services.models.model(named: services.id(ofTagged: name))
    return try await preparing(context) {
        let info = try model.file.info.get()
        let template = try LocalModel.chatTemplateSource(of: model.file.url)
        return try .json(
            OllamaModelDescription(
                license: info.license, modelfile: "FROM \(model.file.id)\n", template: template,
                details: .init(info, model.file), modelInfo: info.values,
                capabilities: capabilities(of: model, template, services), modifiedAt: model.file.modifiedAt))
    }
}

/// What a model can do, under Ollama's names.
private func capabilities(of model: ServedModel, _ template: String, _ services: Services) throws -> [String] {
    var names: [String] = []
    let tasks = model.card.capabilities ?? []
    if tasks.contains(.embedding) { names.append("embedding") }
    guard tasks.contains(.completion) else { return names }
    names.append("completion")
    if let compiled = try? LocalModel.chatTemplate(of: model.file.url) {
        let dialect = Dialect(template: compiled)
        if dialect.history.showsTools { names.append("tools") }
        let marker = dialect.thoughts.open
        let namesThoughts = !marker.isEmpty && template.contains(marker)
        if dialect.isHarmony || namesThoughts || dialect.history.reasoningKey != nil { names.append("thinking") }
    }
    if services.models.seesImages(model.file.id) { names.append("vision") }
    let tokenizer = try? model.loaded?.tokenizer ?? LocalModel.tokenizer(of: model.file.url)
    if tokenizer?.fillInMiddle != nil { names.append("insert") }
    return names
}

/// `POST /api/embed` of Ollama's API.
@Sendable func embedLikeOllama(_ context: RequestContext, _ services: Services) async throws -> Response {
    let received = ContinuousClock.now
    let body = try JSON.decode(OllamaEmbedRequest.self, from: context.body)
    let embedded = try await embed(body, context, services)
    let total = (ContinuousClock.now - received).nanoseconds
    let list = OllamaEmbeddings(
        model: body.model, totalDuration: total, loadDuration: embedded?.loadTime.nanoseconds ?? total,
        promptEvalCount: embedded?.promptTokens ?? 0)
    let vectors = embedded?.vectors ?? []
    let rows = LongList(count: vectors.count, values: vectors.first?.count ?? 1) { vectors[$0] }
    return try .json(list, filling: ["embeddings": [rows]])
}

/// `POST /api/embeddings`, the older route of Ollama's API for one text.
@Sendable func embedPromptLikeOllama(_ context: RequestContext, _ services: Services) async throws -> Response {
    let body = try JSON.decode(OllamaEmbedRequest.self, from: context.body)
    let embedded = try await embed(body, context, services)
    return try .json(["embedding": embedded?.vectors.first ?? []])
}

/// - Returns: `nil` if there is nothing to embed; the model is loaded.
private func embed(
    _ body: OllamaEmbedRequest, _ context: RequestContext, _ services: Services
) async throws -> Embedded? {
    let id = try services.id(ofTagged: body.model)
    context.trace.warn(of: body.options)
    guard let request = body.request(for: id) else {
        _ = try await services.loadOrUnload(id, body.keepAlive, context)
        return nil
    }
    return try await embed(request.validated(), keepAlive: body.keepAlive, context, services)
}

extension OllamaModelList.Model {
    /// - Returns: `nil` if the model's file cannot be read.
    fileprivate init?(_ model: ServedModel) {
        guard let info = try? model.file.info.get() else { return nil }
        let id = model.file.id
        self.init(
            name: id.contains(":") ? id : id + ":latest", size: info.fileBytes, digest: model.file.digest,
            details: .init(info, model.file))
    }
}

extension OllamaModelDetails {
    fileprivate init(_ info: LocalModel.Info, _ file: ModelFile) {
        self.init(
            format: file.url.hasDirectoryPath ? "safetensors" : "gguf", family: info.architecture,
            parameters: info.parameterCount, quantization: info.quantization)
    }
}

extension LocalModel.Info {
    /// Values of the file's metadata under their keys there.
    fileprivate var values: JSON.Object {
        var values: JSON.Object = [
            "general.architecture": .string(architecture), "general.name": .string(name),
            "general.parameter_count": JSON(parameterCount),
            "\(architecture).context_length": JSON(trainedContextSize),
            "\(architecture).vocab_size": JSON(vocabularySize),
        ]
        if embeddingSize > 0 { values["\(architecture).embedding_length"] = JSON(embeddingSize) }
        if let license { values["general.license"] = .string(license) }
        return values
    }
}

extension ModelFile {
    fileprivate var modifiedAt: String { .timestamp(Date(timeIntervalSince1970: TimeInterval(created))) }

    /// Digits that differ between files and their versions. Not a digest of the contents, which would have to be read.
    fileprivate var digest: String {
        let bytes = (try? info.get().fileBytes) ?? 0
        return SHA256.digest(of: "\(url.path) \(bytes) \(created)".utf8).hexadecimal
    }
}
