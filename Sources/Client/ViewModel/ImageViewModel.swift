public import Foundation
public import Observation

/// The view model of a screen that generates images.
@MainActor @Observable
public final class ImageViewModel {
    /// The input.
    public var prompt = ""
    /// URL of the latest image, which may expire, or a `data:` URL.
    public private(set) var imageUrl: URL?
    /// Whether an image is being generated.
    public private(set) var isLoading = false
    /// Whether `imageUrl` is the result of the latest prompt.
    public private(set) var isFinished = false
    /// Why there is no image, as text to show.
    public private(set) var errorMessage: String?

    @ObservationIgnored private let draw: @Sendable (String) async throws -> URL
    @ObservationIgnored private var work: Task<Void, Never>?

    /// - Parameter request: The request without its prompt.
    public convenience init(_ service: ImageService, request: ImageRequest = .init(prompt: "")) {
        self.init { prompt in
            var request = request
            request.prompt = prompt
            return try await service.generate(request)
        }
    }

    init(draw: @escaping @Sendable (String) async throws -> URL) { self.draw = draw }

    /// Generates an image of the prompt. Does nothing while `isLoading`. On failure the previous image stays.
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

    /// Cancels the running request and returns when it has ended.
    public func cancel() async {
        work?.cancel()
        await work?.value
    }

    /// Call when the view cannot load `imageUrl`, for instance because it has expired.
    public func imageDidFail() {
        errorMessage = "Failed to load image"
        isFinished = false
    }
}
