public import Foundation

extension LanguageModelExecutorGenerationChannel.Response.Action {
    /// Appends to a text segment, which begins with its first text. `tokenCount` is for whoever reads the channel: a session
    /// counts what `updateUsage` sends.
    public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .append(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    /// Replaces all text of a segment, for services that send the answer so far and not its next piece.
    public static func replaceTextSegment(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .replace(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    /// Adds the segment, or replaces the one with its id.
    public static func updateCustomSegment(_ segment: any Transcript.CustomSegment) -> Self {
        Self(kind: .custom(segment))
    }

    /// Appends an image that the model made.
    public static func addAttachmentSegment(_ segment: Transcript.AttachmentSegment) -> Self {
        Self(kind: .attachment(segment))
    }

    /// Removes the image with this segment id; without effect if there is none.
    public static func removeAttachmentSegment(id: String) -> Self { Self(kind: .removeAttachment(id: id)) }

    /// Sets these values of the entry's metadata; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }

    /// Sets the message's numbers of tokens. Numbers sent before for the same message are replaced.
    public static func updateUsage(
        input: LanguageModelExecutorGenerationChannel.Usage.Input,
        output: LanguageModelExecutorGenerationChannel.Usage.Output,
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> Self {
        Self(kind: .usage(.init(input: input, output: output, metadata: metadata)))
    }
}

extension LanguageModelExecutorGenerationChannel.Reasoning.Action {
    /// Appends to the reasoning, before the entry of the response or the calls.
    public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .append(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    /// Replaces all text of a segment of the reasoning.
    public static func replaceTextSegment(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .replace(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    /// Sets the signature, which the executor gets back with the transcript of the next request.
    public static func updateSignature(_ signature: Data, tokenCount: Int) -> Self {
        Self(kind: .signature(.init(signature: signature, tokenCount: tokenCount)))
    }

    /// Sets these values of the entry's metadata; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }

    /// Sets the message's numbers of tokens. Numbers sent before for the same message are replaced.
    public static func updateUsage(
        input: LanguageModelExecutorGenerationChannel.Usage.Input,
        output: LanguageModelExecutorGenerationChannel.Usage.Output,
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> Self {
        Self(kind: .usage(.init(input: input, output: output, metadata: metadata)))
    }
}

extension LanguageModelExecutorGenerationChannel.ToolCalls.Action {
    /// Changes the call with this id, which begins with its first action.
    public static func toolCall(
        id: String, name: String, action: LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall.Action
    ) -> Self {
        Self(kind: .call(.init(id: id, name: name, action: action)))
    }

    /// Takes back the call with this id. Calls run when the message has ended, so a call that is taken back never runs.
    public static func removeToolCall(id: String) -> Self { Self(kind: .remove(id: id)) }

    /// Sets these values of the metadata of all calls of the entry; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }

    /// Sets the message's numbers of tokens. Numbers sent before for the same message are replaced.
    public static func updateUsage(
        input: LanguageModelExecutorGenerationChannel.Usage.Input,
        output: LanguageModelExecutorGenerationChannel.Usage.Output,
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> Self {
        Self(kind: .usage(.init(input: input, output: output, metadata: metadata)))
    }
}

extension LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall.Action {
    /// Appends to the JSON text of the arguments, which must be whole when the message ends.
    public static func appendArguments(_ content: String, tokenCount: Int) -> Self {
        Self(kind: .append(.init(content: content, tokenCount: tokenCount)))
    }

    /// Sets these values of the call's metadata; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }
}
