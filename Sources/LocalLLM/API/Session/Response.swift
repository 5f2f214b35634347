extension LanguageModelSession {
    /// A whole answer.
    public struct Response<Content: Sendable>: Sendable {
        public let content: Content
        /// What the request added to the transcript: the prompt and the answer.
        public let transcriptEntries: ArraySlice<Transcript.Entry>
        /// What it cost: nothing if it was not generated.
        public let usage: Usage

        init(content: Content, transcriptEntries: ArraySlice<Transcript.Entry>, usage: Usage = .none) {
            self.content = content
            self.transcriptEntries = transcriptEntries
            self.usage = usage
        }
    }

    /// An answer as it grows.
    ///
    /// Iterate it once. Work begins with `streamResponse`, not with the iteration. Cancelling the task that iterates,
    /// breaking out of the loop, or dropping the stream ends it. A reader that is slower than the model misses snapshots, but
    /// never the last one.
    public struct ResponseStream<Content: Sendable>: AsyncSequence, Sendable {
        /// The answer so far, from its beginning.
        public struct Snapshot: Sendable {
            public var content: Content
        }

        /// Snapshots that wait for a slow reader.
        private static var capacity: Int { 16 }

        private let snapshots: AsyncThrowingStream<Snapshot, any Swift.Error>
        private let answer: Task<Response<Content>, any Swift.Error>
        private let lifetime: Lifetime

        /// - Parameter produce: Gives each snapshot to its argument, and returns the whole.
        init(_ produce: @escaping @Sendable (@Sendable (Content) -> Void) async throws -> Response<Content>) {
            let (snapshots, continuation) = AsyncThrowingStream<Snapshot, any Swift.Error>.makeStream(
                bufferingPolicy: .bufferingNewest(Self.capacity))
            let answer = Task.detached {
                do {
                    let response = try await produce { continuation.yield(Snapshot(content: $0)) }
                    continuation.finish()
                    return response
                } catch {
                    continuation.finish(throwing: error)
                    throw error
                }
            }
            continuation.onTermination = { reason in if case .cancelled = reason { answer.cancel() } }
            self.snapshots = snapshots
            self.answer = answer
            lifetime = Lifetime { answer.cancel() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(
                base: snapshots.makeAsyncIterator(), stream: lifetime, loop: Lifetime { [answer] in answer.cancel() })
        }

        /// The whole answer, once it is there.
        public func collect() async throws -> Response<Content> {
            // The stream must not go, and with it the work, while someone waits.
            defer { withExtendedLifetime(lifetime) {} }
            return try await withTaskCancellationHandler {
                try await answer.value
            } onCancel: {
                answer.cancel()
            }
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var base: AsyncThrowingStream<Snapshot, any Swift.Error>.Iterator
            /// The stream may go while it is iterated; when the iterator goes, a loop was left.
            fileprivate let stream, loop: Lifetime

            public mutating func next() async throws -> Snapshot? {
                if let snapshot = try await base.next() { return snapshot }
                // A cancelled task's stream ends like one that is complete.
                try Task.checkCancellation()
                return nil
            }
        }

        /// Ends the work when the last one goes who has it; after the end that does nothing.
        fileprivate final class Lifetime: Sendable {
            private let end: @Sendable () -> Void
            init(end: @escaping @Sendable () -> Void) { self.end = end }
            deinit { end() }
        }
    }
}
