extension LanguageModelSession {
    /// A complete answer.
    public struct Response<Content: Generable> {
        /// The answer as a value of the requested type; `String` without reasoning and calls.
        public let content: Content
        /// The answer as generated: the text as a string value, or the value as content.
        public let rawContent: GeneratedContent
        /// Entries that the request added to the transcript: the prompt, tool calls and their outputs, and the answer.
        public let transcriptEntries: ArraySlice<Transcript.Entry>
        /// Token counts of the request, all its messages together; zero if the answer was not generated.
        public let usage: Usage
        /// What the model no longer read since the request, because its context was full; empty if it read everything
        /// that it read before.
        public let omissions: [Transcript.Omission]
        /// The generated tokens of all messages with their log probabilities, for a model of this machine; empty unless
        /// `SamplingOptions.topLogprobs` is set, in `GenerationOptions` under `custom: LocalModel.self`.
        public let tokenProbabilities: [TokenProbability]
    }

    /// An answer of the session, before its conversion to the caller's type.
    struct Answer: Sendable {
        let content: GeneratedContent
        let entries: ArraySlice<Transcript.Entry>
        let usage: Usage
        var omissions: [Transcript.Omission] = []
        var probabilities: [TokenProbability] = []

        func response<Content: Generable>(_ type: Content.Type) throws -> Response<Content> {
            Response(
                content: try Content(content), rawContent: content, transcriptEntries: entries, usage: usage,
                omissions: omissions, tokenProbabilities: probabilities)
        }
    }

    /// The state of an answer under way.
    struct Progress: Sendable {
        /// Content of the current message.
        var content: GeneratedContent
        /// Entries that the request has added to the transcript, and those of the current message.
        var entries: [Transcript.Entry] = []
        var usage = Usage()
        /// Reasoning of all messages of the request.
        var reasoning = ""
        /// Text of earlier messages of the request, which also contained tool calls.
        var earlierText = ""
        /// Number of tool calls that the model has made in a text answer.
        var callCount = 0
    }

    /// A streamed answer.
    ///
    /// Iterate it once. Work starts with `streamResponse`, not with the iteration. Cancelling the iterating task,
    /// leaving the loop, or releasing the stream stops it. A slow reader misses snapshots, but never the last one.
    public struct ResponseStream<Content: Generable>: AsyncSequence, Sendable {
        /// The answer so far, from its beginning.
        public struct Snapshot {
            /// The answer so far; properties of a structure that have not begun are `nil`.
            public var content: Content.PartiallyGenerated
            /// The same as content, whose `isComplete` is false until the end.
            public var rawContent: GeneratedContent
            /// The entries of the request so far; the last may be a part of one.
            public var transcriptEntries: ArraySlice<Transcript.Entry>
            /// Token counts so far; those of the current message may come with its end.
            public var usage: Usage
            /// The model's reasoning so far, including reasoning before each tool call. A text answer is empty while
            /// only reasoning grows; a value has no snapshots until its beginning is generated.
            public var reasoning = ""
            /// Text that the model wrote beside its tool calls, before this message.
            package var earlierText = ""
            /// Number of tool calls so far. `earlierText` and `content` contain all text that precedes them.
            package var callCount = 0
        }

        /// Snapshots buffered for a slow reader.
        private static var capacity: Int { 16 }

        private let snapshots: AsyncThrowingStream<Progress, any Swift.Error>
        private let answer: Task<Answer, any Swift.Error>
        private let lifetime: Lifetime

        /// - Parameter produce: Passes each snapshot to its argument and returns the complete answer.
        init(_ produce: @escaping @Sendable (@escaping @Sendable (Progress) -> Void) async throws -> Answer) {
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

        /// Waits for the complete answer.
        public func collect() async throws -> sending Response<Content> {
            // Releasing the stream would cancel the work while the caller waits.
            defer { withExtendedLifetime(lifetime) {} }
            let whole = try await withTaskCancellationHandler {
                try await answer.value
            } onCancel: {
                answer.cancel()
            }
            return try whole.response(Content.self)
        }

        /// The snapshots that the reader is fast enough for, and the last.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var base: AsyncThrowingStream<Progress, any Swift.Error>.Iterator
            /// The stream may be released while it is iterated; releasing the iterator means that the loop was left.
            fileprivate let stream, loop: Lifetime

            public mutating func next() async throws -> Snapshot? { try await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Snapshot? {
                while let progress = try await base.next(isolation: actor) {
                    let content = progress.content
                    do {
                        return Snapshot(
                            content: try Content.PartiallyGenerated(content), rawContent: content,
                            transcriptEntries: progress.entries[...], usage: progress.usage,
                            reasoning: progress.reasoning, earlierText: progress.earlierText,
                            callCount: progress.callCount)
                    } catch  where !content.isComplete {
                        continue  // Not enough of the value has arrived to convert it.
                    }
                }
                // A cancelled task's stream ends like a complete one.
                try Task.checkCancellation()
                return nil
            }
        }

        /// Cancels the work when its last reference is released; no effect after the end.
        fileprivate final class Lifetime: Sendable {
            private let end: @Sendable () -> Void
            init(end: @escaping @Sendable () -> Void) { self.end = end }
            deinit { end() }
        }
    }
}

extension LanguageModelSession.Response: Sendable where Content: Sendable {}
extension LanguageModelSession.ResponseStream.Snapshot: Sendable where Content.PartiallyGenerated: Sendable {}
