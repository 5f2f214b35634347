public import Foundation
public import Observation

/// A screen on which pictures are drawn: what to draw, the picture or why there is none.
@MainActor @Observable
public final class ImageViewModel {
    /// What the user is typing.
    public var prompt = ""
    /// Where the latest picture is, for a while; a `data:` URL holds the picture itself.
    public private(set) var imageUrl: URL?
    public private(set) var isLoading = false
    /// Whether `imageUrl` is what the latest prompt asked for.
    public private(set) var isFinished = false
    /// Why there is no picture, in words to show.
    public private(set) var errorMessage: String?

    @ObservationIgnored private let draw: @Sendable (String) async throws -> URL
    @ObservationIgnored private var work: Task<Void, Never>?

    /// - Parameter request: How pictures are to be, but for their prompt.
    public convenience init(_ service: ImageService, request: ImageRequest = .init(prompt: "")) {
        self.init { prompt in
            var request = request
            request.prompt = prompt
            return try await service.generate(request)
        }
    }

    init(draw: @escaping @Sendable (String) async throws -> URL) { self.draw = draw }

    /// Draws the prompt; does nothing while a picture is drawn. One that fails leaves the picture before as it is.
    public func generate() async {
        let prompt = prompt
        guard !isLoading, prompt.contains(where: { !$0.isWhitespace }) else { return }
        (isLoading, isFinished, errorMessage) = (true, false, nil)
        let work = Task {
            do {
                let url = try await draw(prompt)
                try Task.checkCancellation()
                (imageUrl, isFinished) = (url, true)
            } catch {
                if !Task.isCancelled { errorMessage = (error as? any LocalizedError)?.errorDescription ?? "\(error)" }
            }
        }
        self.work = work
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        (self.work, isLoading) = (nil, false)
    }

    /// Ends what is being drawn, and returns when it has ended.
    public func cancel() async {
        work?.cancel()
        await work?.value
    }

    /// The view could not show `imageUrl`: the address has expired, for instance.
    public func imageDidFail() {
        errorMessage = "Failed to load image"
        isFinished = false
    }
}
