public import Foundation

/// Carries the events of a message from an executor to its session, in order.
public struct LanguageModelExecutorGenerationChannel: AsyncSequence, Sendable {
    public typealias Element = Event

    private let events: AsyncThrowingStream<Event, any Error>
    private let continuation: AsyncThrowingStream<Event, any Error>.Continuation

    /// A channel of its own, for tests of an executor: send into it, and read its events.
    public init() { (events, continuation) = AsyncThrowingStream.makeStream() }

    /// Sends an event. It has no effect when nobody reads the channel any more.
    public func send(_ event: Event) async { continuation.yield(event) }

    /// Ends the message.
    func finish(throwing error: (any Error)? = nil) { continuation.finish(throwing: error) }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: events.makeAsyncIterator()) }

    /// The events, in the order in which they were sent.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<Event, any Error>.AsyncIterator

        public mutating func next() async throws -> Event? { try await base.next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            try await base.next(isolation: actor)
        }
    }
}

extension LanguageModelExecutorGenerationChannel {
    /// A change of the message. Events without an entry's id continue the message's last entry if it is of their kind.
    public struct Event: Sendable {
        enum Kind: Sendable {
            case response(Response)
            case reasoning(Reasoning)
            case toolCalls(ToolCalls)
        }

        let kind: Kind

        /// A change of the text or value that answers the prompt.
        public static func response(entryID: String? = nil, action: Response.Action) -> Self {
            Self(kind: .response(Response(entryID: entryID, action: action)))
        }

        /// A change of the model's reasoning, which is not part of the content.
        public static func reasoning(entryID: String? = nil, action: Reasoning.Action) -> Self {
            Self(kind: .reasoning(Reasoning(entryID: entryID, action: action)))
        }

        /// A change of the calls; the session runs them when the message has ended.
        public static func toolCalls(entryID: String? = nil, action: ToolCalls.Action) -> Self {
            Self(kind: .toolCalls(ToolCalls(entryID: entryID, action: action)))
        }
    }

    /// A change of a response.
    public struct Response: Sendable {
        /// The transcript's entry that changes; `nil`: the message's last one of this kind, else a new one.
        public var entryID: String?
        /// What happens to the entry.
        public var action: Action

        /// What changes.
        public struct Action: Sendable {
            enum Kind: Sendable {
                case append(TextFragment)
                case replace(TextSegmentReplacement)
                case custom(any Transcript.CustomSegment)
                case attachment(Transcript.AttachmentSegment)
                case removeAttachment(id: String)
                case metadata(Metadata)
                case usage(Usage)
            }

            let kind: Kind
        }
    }

    /// A change of an entry of reasoning.
    public struct Reasoning: Sendable {
        /// The transcript's entry that changes; `nil`: the message's last one of this kind, else a new one.
        public var entryID: String?
        /// What happens to the entry.
        public var action: Action

        /// What changes.
        public struct Action: Sendable {
            enum Kind: Sendable {
                case append(TextFragment)
                case replace(TextSegmentReplacement)
                case signature(ReasoningSignature)
                case metadata(Metadata)
                case usage(Usage)
            }

            let kind: Kind
        }
    }

    /// A change of an entry of calls.
    public struct ToolCalls: Sendable {
        /// The transcript's entry that changes; `nil`: the message's last one of this kind, else a new one.
        public var entryID: String?
        /// What happens to the entry.
        public var action: Action

        /// What changes.
        public struct Action: Sendable {
            enum Kind: Sendable {
                case call(ToolCall)
                case remove(id: String)
                case metadata(Metadata)
                case usage(Usage)
            }

            let kind: Kind
        }

        /// A change of one call.
        public struct ToolCall: Sendable {
            /// The call's id, by which its output refers to it.
            public var id: String
            /// The name of the tool.
            public var name: String
            /// What happens to the call.
            public var action: Action

            /// What changes.
            public struct Action: Sendable {
                enum Kind: Sendable {
                    case append(ArgumentsFragment)
                    case metadata(Metadata)
                }

                let kind: Kind
            }

            /// The next piece of the JSON of a call's arguments.
            public struct ArgumentsFragment: Sendable {
                /// A piece of JSON text, cut anywhere.
                public var content: String
                /// Tokens that the piece consists of. A session's usage is what `updateUsage` sends.
                public var tokenCount: Int
            }
        }
    }

    /// Values to merge into an entry's metadata.
    public struct Metadata: Sendable {
        /// By key; a value replaces the one that the entry has under its key.
        public var values: [String: GeneratedContent]
    }

    /// Numbers of tokens of the message so far; the last one sent counts.
    public struct Usage: Sendable {
        /// Tokens that the model read.
        public struct Input: Sendable {
            /// Tokens of the prompt, cached ones included.
            public var totalTokenCount: Int
            /// Of these, tokens that the service did not compute again.
            public var cachedTokenCount: Int

            /// Both as the service reports them; 0 if it does not.
            public init(totalTokenCount: Int, cachedTokenCount: Int) {
                self.totalTokenCount = totalTokenCount
                self.cachedTokenCount = cachedTokenCount
            }
        }

        /// Tokens that the model generated.
        public struct Output: Sendable {
            /// Generated tokens, reasoning included.
            public var totalTokenCount: Int
            /// Of these, tokens of reasoning.
            public var reasoningTokenCount: Int

            /// Both as the service reports them; 0 if it does not.
            public init(totalTokenCount: Int, reasoningTokenCount: Int) {
                self.totalTokenCount = totalTokenCount
                self.reasoningTokenCount = reasoningTokenCount
            }
        }

        /// What the model read.
        public var input: Input
        /// What the model wrote.
        public var output: Output
        /// The service's own figures, such as a price; they reach the app as `LanguageModelSession.Usage.metadata`.
        public var metadata: [String: GeneratedContent]

        /// Usage to send with `updateUsage`.
        public init(
            input: Input, output: Output, metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
        ) {
            self.input = input
            self.output = output
            self.metadata = metadata.contents
        }
    }

    /// Text to append to a segment.
    public struct TextFragment: Sendable {
        /// The text to add, cut anywhere.
        public var content: String
        /// `nil`: the entry's last text segment.
        public var segmentID: String?
        /// Tokens that the text consists of. A session's usage is what `updateUsage` sends.
        public var tokenCount: Int
    }

    /// Text that replaces that of a segment.
    public struct TextSegmentReplacement: Sendable {
        /// The segment's whole text from now on.
        public var content: String
        /// `nil`: the entry's last text segment.
        public var segmentID: String?
        /// Tokens that this change cost. A session's usage is what `updateUsage` sends.
        public var tokenCount: Int
    }

    /// A provider's proof that reasoning is its own.
    public struct ReasoningSignature: Sendable {
        /// Bytes that only the service can read.
        public var signature: Data
        /// Tokens that the signature cost. A session's usage is what `updateUsage` sends.
        public var tokenCount: Int
    }
}
