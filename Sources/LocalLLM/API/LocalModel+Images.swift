package import Foundation
import Tokenizer

extension ChatMessage {
    /// Marks an image in a rendered conversation. Random for each process, so that no text can forge it.
    package static let imageMarker = "<image-\(UUID().uuidString)>"
}

extension LocalModel {
    /// Whether the model accepts images: it was loaded with an image encoder.
    public var seesImages: Bool { imageReader != nil }

    /// Number of images that the encoder has computed since the model was loaded. An image found in the cache does not
    /// count. For tests.
    package var encodedImages: Int { imageReader?.encodedImages ?? 0 }

    /// Computes the tokens of an image, between the steps of running requests. Images with equal contents are
    /// computed once.
    ///
    /// - Throws: `LocalModelError.wrongKind` if the model does not accept images; `CancellationError` between two
    ///   layers.
    public func read(_ image: RGBImage) async throws -> ModelImage {
        try await needImageReader().read(image, on: thread)
    }

    /// The vectors of an image's tokens, `[tokens][width]`, bypassing the cache: for measurements and comparisons.
    package func encode(_ image: RGBImage) async throws -> [[Float]] {
        let imageReader = try needImageReader()
        return try await imageReader.encode(imageReader.encoder.preprocessing.pieces(of: image), on: thread).flatMap {
            rows in
            (0..<rows.matrix.rows).map {
                Array(UnsafeBufferPointer(start: rows.matrix[$0], count: rows.matrix.columns))
            }
        }
    }

    /// The images of a conversation, in order.
    ///
    /// - Throws: As `read` of an image; `ImageFileError` for a file that cannot be decoded; `contextSizeExceeded` if the
    ///   images have more tokens than the context.
    public func read(_ messages: [ChatMessage]) async throws -> [ModelImage] {
        try await read(messages, cacheSalt: nil)
    }

    /// - Parameter cacheSalt: As in `SamplingOptions`.
    package func read(_ messages: [ChatMessage], cacheSalt: String?) async throws -> [ModelImage] {
        let files = messages.flatMap { $0.images ?? [] }
        guard !files.isEmpty else { return [] }
        return try await needImageReader().read(files, salt: cacheSalt, contextSize: contextSize, on: thread)
    }

    /// An image's file.
    package func read(file: Data) async throws -> ModelImage { try await read([.user("", images: [file])])[0] }

    /// A rendered conversation as tokens, with images in place of the markers that `render` wrote for them.
    ///
    /// - Parameters:
    ///   - rendered: Text as for `tokens(of:)`.
    ///   - images: One for each marker, in order.
    public func prompt(of rendered: String, images: [ModelImage]) throws(LocalModelError) -> ModelPrompt {
        try prompt(of: rendered, images: images, isQuoted: false)
    }

    /// A rendered conversation as tokens, for messages that are `quoted(for:)` the model's tokenizer.
    package func prompt(ofQuoted rendered: String, images: [ModelImage]) throws(LocalModelError) -> ModelPrompt {
        try prompt(of: rendered, images: images, isQuoted: true)
    }

    private func prompt(
        of rendered: String, images: [ModelImage], isQuoted: Bool
    ) throws(LocalModelError) -> ModelPrompt {
        guard !images.isEmpty else {
            return ModelPrompt(tokens: try format.tokens(of: rendered, isQuoted: isQuoted))
        }
        let texts = try split(rendered, at: images)
        let prompt = ModelPrompt(tokens: try format.tokens(of: texts[0], isQuoted: isQuoted))
        return try adding(images, texts.dropFirst(), to: prompt, isQuoted: isQuoted)
    }

    /// The texts before, between and after a prompt's images.
    func split(_ rendered: String, at images: [ModelImage]) throws(LocalModelError) -> [String] {
        let texts = images.isEmpty ? [rendered] : rendered.components(separatedBy: ChatMessage.imageMarker)
        guard texts.count == images.count + 1 else {
            throw .templateFailed(
                "The chat template rendered \(texts.count - 1) of the messages' \(images.count) images.")
        }
        return texts
    }

    /// A prompt with images behind it, each followed by a text.
    func adding(
        _ images: [ModelImage], _ texts: ArraySlice<String>, to prompt: ModelPrompt, isQuoted: Bool
    ) throws(LocalModelError) -> ModelPrompt {
        guard !images.isEmpty else { return prompt }
        let imageReader = try needImageReader()
        guard images.allSatisfy({ $0.isOf(imageReader) }) else {
            throw .invalidOption("images: an image was encoded by another model")
        }
        let tokenizer = try tokenizer
        var prompt = prompt
        for (image, text) in zip(images, texts) {
            var (next, id) = (0, image.ids.lowerBound)
            for piece in image.pieces {
                switch piece {
                case .text(let text): prompt.append(tokenizer.encode(text, addSpecial: false, parseSpecial: true))
                case .tokens:
                    prompt.append(image.rows[next], firstID: id)
                    id += image.rows[next].matrix.rows
                    next += 1
                }
            }
            guard !text.isEmpty else { continue }
            prompt.append(
                isQuoted
                    ? tokenizer.encode(quoted: text) : tokenizer.encode(text, addSpecial: false, parseSpecial: true))
        }
        return prompt
    }

    /// Continues a prompt.
    ///
    /// Errors are thrown when iterating the result: `LocalModelError`.
    public func generate(_ prompt: ModelPrompt, options: SamplingOptions = .init()) -> Generation {
        generate(prompt, options: options, group: nil)
    }

    /// - Parameter group: Group for fair sharing of the machine; `nil`: the request is a group of its own.
    package func generate(_ prompt: ModelPrompt, options: SamplingOptions, group: GenerationGroup?) -> Generation {
        Generation.catching { () throws(LocalModelError) in try submit(prompt, options, group) }
    }

    /// The logits after every text token of a prompt: `[text tokens, vocabulary]`, row-major.
    ///
    /// - Parameter chunk: Maximum tokens of a step. Tokens that attend to each other are never split.
    public func logits(of prompt: ModelPrompt, chunk: Int = 512) async throws -> [Float] {
        try check(prompt)
        try checkDecoderOnly()
        guard chunk > 0 else { throw LocalModelError.invalidOption("chunk: expected at least 1, found \(chunk)") }
        let media = try sequenceMedia(of: prompt)
        return try await thread.perform { network, compute in
            let state = network.makeState(media: media)
            var result: [Float] = []
            var start = 0
            while start < prompt.tokens.count {
                let range = start..<min(start + chunk, prompt.tokens.count)
                let end = media?.pieceEnd(range) ?? range.upperBound
                var step = Step()
                step.append(prompt.tokens[start..<end], to: state, output: .all)
                let logits = network.forward(step, on: compute)
                for row in 0..<end - start where prompt.tokens[start + row] >= 0 {
                    result.append(contentsOf: UnsafeBufferPointer(start: logits[row], count: logits.columns))
                }
                start = end
            }
            return result
        }
    }

    func check(_ prompt: ModelPrompt) throws(LocalModelError) {
        guard prompt.isWhole else { throw .invalidOption("tokens: expected ids from 0 on outside of images") }
        guard !prompt.media.isEmpty else { return try check(prompt.tokens) }
        try check(prompt.tokens.map { max(0, $0) })
    }

    /// `nil` if the prompt has no images.
    func sequenceMedia(of prompt: ModelPrompt) throws(LocalModelError) -> SequenceMedia? {
        guard !prompt.media.isEmpty else { return nil }
        let imageReader = try needImageReader()
        let decoderSight = Registry.imageSight(architecture: info.architecture, width: info.embeddingSize)
        guard prompt.media.allSatisfy({ $0.rows.matrix.columns == imageReader.encoder.rowWidth }) else {
            throw .invalidOption("images: an image was encoded by another model")
        }
        return SequenceMedia(
            prompt.media, sight: decoderSight ?? imageReader.encoder.family.sight,
            hasGridPositions: imageReader.encoder.family.hasGridPositions)
    }

    private func needImageReader() throws(LocalModelError) -> ImageReader {
        guard let imageReader else {
            throw .wrongKind(
                "The model '\(info.name)' (\(info.architecture)) was loaded without an image encoder (mmproj file) and does not support images."
            )
        }
        return imageReader
    }
}
