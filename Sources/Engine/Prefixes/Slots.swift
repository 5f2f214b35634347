import Compute
import KernelFormats

/// What the numbered slots of llama.cpp's API stand for here: the text of the last sequence that a request put there.
///
/// A slot reserves nothing: its states are those that the prefix cache still has. Sequences with a salt and those of
/// encoder-decoders are in no slot, and a text ends before its first image.
///
/// Used by the engine's thread only.
struct Slots {
    struct Text: Equatable {
        /// The prompt, then the answer.
        var tokens: [Int32]
        var promptTokens: Int
        var adapters: AdapterSelection
    }

    /// The states of a slot's text, and what keeps their memory alive.
    struct Content {
        let text: Text
        /// Pages of the text from its beginning.
        let path: [PrefixCache.Node]

        /// The parts of each page, and of the checkpoint after it if there is one.
        var parts: [SequenceState.Buffer] { path.flatMap { $0.pages + ($0.checkpoint?.parts ?? []) } }
    }

    private var texts: [Int: Text] = [:]
    /// What is being written to files.
    private var writing: [Int: Content] = [:]
    private var lastWriting = 0

    /// Puts the text of a sequence into a slot.
    mutating func put(_ text: Text, into slot: Int) {
        var text = text
        // Rows of an image have negative IDs, which mean something in this process only.
        text.tokens = Array(text.tokens.prefix { $0 >= 0 })
        text.promptTokens = min(text.promptTokens, text.tokens.count)
        texts[slot] = text
    }

    /// The content of a slot, which stays in memory until `endWriting`; `nil` if the slot is empty.
    mutating func beginWriting(_ slot: Int, from prefixes: inout PrefixCache, _ shape: StateShape) -> (
        id: Int, content: Content
    )? {
        guard let text = texts[slot] else { return nil }
        var path = prefixes.longestPrefix(of: text.tokens[...], after: prefixes.root(text.adapters), promptOnly: false)
        if shape.needsCheckpoints {
            // Pages are of no use up to a place without a checkpoint.
            path.removeLast(path.count - 1 - (path.lastIndex { $0.checkpoint != nil } ?? -1))
        }
        lastWriting += 1
        let content = Content(text: text, path: path)
        writing[lastWriting] = content
        return (lastWriting, content)
    }

    mutating func endWriting(_ id: Int) { writing[id] = nil }

    /// Puts the text of a file into a slot, and its states into the prefix cache.
    mutating func restore(
        _ file: SlotFile, _ adapters: AdapterSelection, into slot: Int, _ prefixes: inout PrefixCache,
        _ shape: StateShape
    ) {
        let head = file.head
        texts[slot] = Text(tokens: head.tokens, promptTokens: head.promptTokens, adapters: adapters)
        let root = prefixes.root(adapters)
        let tokens = head.tokens[..<head.savedTokens]
        // Marks what is known of the text as used now, and the new pages with it.
        _ = prefixes.longestPrefix(of: tokens, after: root, promptOnly: false)
        let path = prefixes.insert(file.pages, of: tokens, nil, after: root, promptPages: head.promptPages)
        for (index, checkpoint) in file.checkpoints.enumerated() {
            if let checkpoint { prefixes.add(checkpoint, at: (index + 1) * pageTokens, of: shape, to: path[index]) }
        }
    }

    /// Empties a slot, and evicts the states that nothing else uses.
    ///
    /// - Returns: Tokens of its text.
    mutating func erase(_ slot: Int, from prefixes: inout PrefixCache) -> Int {
        guard let text = texts.removeValue(forKey: slot) else { return 0 }
        prefixes.evict(text.tokens[...], after: prefixes.root(text.adapters))
        return text.tokens.count
    }
}
