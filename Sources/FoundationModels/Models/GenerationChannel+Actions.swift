public import Foundation

extension LanguageModelExecutorGenerationChannel.Response.Action {
    public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .append(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    public static func replaceTextSegment(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .replace(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    /// Adds the segment, or replaces the one with its id.
    public static func updateCustomSegment(_ segment: any Transcript.CustomSegment) -> Self {
        Self(kind: .custom(segment))
    }

    public static func addAttachmentSegment(_ segment: Transcript.AttachmentSegment) -> Self {
        Self(kind: .attachment(segment))
    }

    public static func removeAttachmentSegment(id: String) -> Self { Self(kind: .removeAttachment(id: id)) }

    /// Sets these values of the entry's metadata; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }

    public static func updateUsage(
        input: LanguageModelExecutorGenerationChannel.Usage.Input,
        output: LanguageModelExecutorGenerationChannel.Usage.Output,
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> Self {
        Self(kind: .usage(.init(input: input, output: output, metadata: metadata)))
    }
}

extension LanguageModelExecutorGenerationChannel.Reasoning.Action {
    public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .append(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    public static func replaceTextSegment(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
        Self(kind: .replace(.init(content: text, segmentID: segmentID, tokenCount: tokenCount)))
    }

    public static func updateSignature(_ signature: Data, tokenCount: Int) -> Self {
        Self(kind: .signature(.init(signature: signature, tokenCount: tokenCount)))
    }

    /// Sets these values of the entry's metadata; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }

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

    public static func removeToolCall(id: String) -> Self { Self(kind: .remove(id: id)) }

    /// Sets these values of the metadata of all calls of the entry; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }

    public static func updateUsage(
        input: LanguageModelExecutorGenerationChannel.Usage.Input,
        output: LanguageModelExecutorGenerationChannel.Usage.Output,
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) -> Self {
        Self(kind: .usage(.init(input: input, output: output, metadata: metadata)))
    }
}

extension LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall.Action {
    public static func appendArguments(_ content: String, tokenCount: Int) -> Self {
        Self(kind: .append(.init(content: content, tokenCount: tokenCount)))
    }

    /// Sets these values of the call's metadata; others stay.
    public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent & Sendable]) -> Self {
        Self(kind: .metadata(.init(values: values.contents)))
    }
}
