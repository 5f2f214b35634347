extension LanguageModelSession {
    /// A whole answer.
    public struct Response<Content> {
        public let content: Content
        /// The answer as it was generated: of a text that text, else the value as content.
        public let rawContent: GeneratedContent
        /// What the request added to the transcript: the prompt, calls of tools and what they returned, and the answer.
        public let transcriptEntries: ArraySlice<Transcript.Entry>
        /// What it cost: nothing if it was not generated.
        public let usage: Usage

        init(
            content: Content, rawContent: GeneratedContent, transcriptEntries: ArraySlice<Transcript.Entry>,
            usage: Usage = .none
        ) {
            self.content = content
            self.rawContent = rawContent
            self.transcriptEntries = transcriptEntries
            self.usage = usage
        }
    }

    /// An answer as the session produces it, before it becomes a value of a type.
    struct Answer: Sendable {
        let content: GeneratedContent
        let entries: ArraySlice<Transcript.Entry>
        let usage: Usage

        func response<Content: Generable>(_ type: Content.Type) throws -> Response<Content> {
            Response(
                content: try Content(content), rawContent: content, transcriptEntries: entries, usage: usage)
        }
    }

    /// What there is of an answer.
    struct Progress: Sendable {
        /// Of the message under way.
        var content: GeneratedContent
        /// Of all messages of the request.
        var reasoning = ""
        /// What the model's messages before the one under way said, beside their calls.
        var earlierText = ""
    }

    /// An answer as it grows.
    ///
    /// Iterate it once. Work begins with `streamResponse`, not with the iteration. Cancelling the task that iterates,
    /// breaking out of the loop, or dropping the stream ends it. A reader that is slower than the model misses snapshots, but
    /// never the last one.
    public struct ResponseStream<Content: Generable>: AsyncSequence, Sendable {
        /// The answer so far, from its beginning.
        public struct Snapshot {
            public var content: Content.PartiallyGenerated
            public var rawContent: GeneratedContent
            /// What the model has thought so far, on models that think; also before each of its calls of tools. A text is
            /// empty while only thoughts grow; of a value there are no snapshots until its beginning is there.
            public var reasoning = ""
            /// What the model said beside its calls before this message.
            package var earlierText = ""
        }

        /// Snapshots that wait for a slow reader.
        private static var capacity: Int { 16 }

        private let snapshots: AsyncThrowingStream<Progress, any Swift.Error>
        private let answer: Task<Answer, any Swift.Error>
        private let lifetime: Lifetime

        /// - Parameter produce: Gives each snapshot to its argument, and returns the whole.
        init(_ produce: @escaping @Sendable (@Sendable (Progress) -> Void) async throws -> Answer) {
            let (snapshots, continuation) = AsyncThrowingStream<Progress, any Swift.Error>.makeStream(
                bufferingPolicy: .bufferingNewest(Self.capacity))
            let answer = Task.detached {
                do {
                    let answer = try await produce { continuation.yield($0) }
                    continuation.finish()
                    return answer
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
                try await answer.value.response(Content.self)
            } onCancel: {
                answer.cancel()
            }
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var base: AsyncThrowingStream<Progress, any Swift.Error>.Iterator
            /// The stream may go while it is iterated; when the iterator goes, a loop was left.
            fileprivate let stream, loop: Lifetime

            public mutating func next() async throws -> Snapshot? { try await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Snapshot? {
                while let progress = try await base.next(isolation: actor) {
                    let content = progress.content
                    do {
                        return Snapshot(
                            content: try Content.PartiallyGenerated(content), rawContent: content,
                            reasoning: progress.reasoning, earlierText: progress.earlierText)
                    } catch  where !content.isComplete {
                        continue  // Too little is there to be a value of this type.
                    }
                }
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

extension LanguageModelSession.Response: Sendable where Content: Sendable {}
extension LanguageModelSession.ResponseStream.Snapshot: Sendable where Content.PartiallyGenerated: Sendable {}
