package import Tokenizer

extension GGUFMetadata {
    /// The tokenizer's fields; `nil` if the file has no tokenizer.
    package func tokenizerDescription() throws(ModelFileError) -> TokenizerDescription? {
        guard let model = try stringIfPresent("tokenizer.ggml.model"), model != "none", model != "no_vocab" else {
            return nil
        }
        var description = TokenizerDescription(model: model, tokens: try byteStrings("tokenizer.ggml.tokens"))
        let count = description.tokens.count
        description.pre = try stringIfPresent("tokenizer.ggml.pre")
        description.scores = try perToken("scores", count, doublesIfPresent)?.map { Float($0) }
        description.types = try perToken("token_type", count, int32sIfPresent)
        description.merges = try byteStringsIfPresent("tokenizer.ggml.merges")
        description.beginningOfSequence = try tokenID("bos_token_id", of: count)
        description.endOfSequence = try tokenID("eos_token_id", of: count)
        description.endsOfSequence = try tokenIDs("eos_token_ids", of: count)
        description.endOfTurn = try tokenID("eot_token_id", of: count)
        description.endOfMessage = try tokenID("eom_token_id", of: count)
        description.separator = try tokenID("seperator_token_id", of: count)  // the specification's spelling
        description.unknown = try tokenID("unknown_token_id", of: count)
        description.fillInMiddlePrefix = try tokenID("fim_pre_token_id", "prefix_token_id", of: count)
        description.fillInMiddleSuffix = try tokenID("fim_suf_token_id", "suffix_token_id", of: count)
        description.fillInMiddleMiddle = try tokenID("fim_mid_token_id", "middle_token_id", of: count)
        description.fillInMiddlePad = try tokenID("fim_pad_token_id", of: count)
        description.fillInMiddleRepository = try tokenID("fim_rep_token_id", of: count)
        description.fillInMiddleSeparator = try tokenID("fim_sep_token_id", of: count)
        description.addBeginningOfSequence = try boolIfPresent("tokenizer.ggml.add_bos_token")
        description.addEndOfSequence = try boolIfPresent("tokenizer.ggml.add_eos_token")
        description.addSeparator = try boolIfPresent("tokenizer.ggml.add_sep_token")
        description.addSpacePrefix = try boolIfPresent("tokenizer.ggml.add_space_prefix")
        description.removeExtraWhitespaces = try boolIfPresent("tokenizer.ggml.remove_extra_whitespaces")
        description.normalizerLowercase = try boolIfPresent("tokenizer.ggml.normalizer.lowercase")
        description.normalizerStripAccents = try boolIfPresent("tokenizer.ggml.normalizer.strip_accents")
        description.precompiledCharsmap = try intsIfPresent("tokenizer.ggml.precompiled_charsmap")
            .map { $0.map { UInt8(truncatingIfNeeded: $0) } }
        // Some families can be told apart only by these.
        description.modelName = try displayTextIfPresent("general.name")
        description.architecture = try stringIfPresent("general.architecture")
        description.rules = try publishedRules(of: count)
        return description
    }

    /// The rules of a `tokenizer.json`; `nil` if the file has none of this package's keys.
    private func publishedRules(of count: Int) throws(ModelFileError) -> PublishedRules? {
        let key = "tokenizer.json.added_tokens"
        guard let added = try int32sIfPresent(key) else { return nil }
        var rules = PublishedRules()
        for index in stride(from: 0, to: added.count - 1, by: 2) {
            rules.added[try checked(Int(added[index]), key, of: count)] = AddedTokenRule(rawValue: added[index + 1])
        }
        do {
            rules.normalizer = try NormalizationStep.steps(named: stringsIfPresent("tokenizer.json.normalizer") ?? [])
        } catch let error as TokenizerError {
            throw ModelFileError(.badMetadata, "\(error)", path: path)
        } catch let error as ModelFileError {
            throw error
        } catch { throw ModelFileError(.badMetadata, "\(error)", path: path) }
        if let name = try stringIfPresent("tokenizer.json.space_prefix") {
            guard let prefix = SpacePrefix(rawValue: name) else {
                throw ModelFileError(
                    .badMetadata, "The metadata key 'tokenizer.json.space_prefix' is '\(name)', which is unknown.",
                    path: path)
            }
            rules.spacePrefix = prefix
        }
        rules.ignoresMerges = try boolIfPresent("tokenizer.json.ignore_merges") ?? false
        rules.escapesSpaces = try boolIfPresent("tokenizer.json.escape_spaces") ?? false
        rules.splitsAtSpaces = try boolIfPresent("tokenizer.json.split_at_spaces") ?? false
        rules.stripsSpace = try boolIfPresent("tokenizer.json.strip_space") ?? false
        rules.tidiesPunctuation = try boolIfPresent("tokenizer.json.tidy_punctuation") ?? false
        rules.maximumWordLength = try intIfPresent("tokenizer.json.max_input_chars_per_word")
        return rules
    }

    /// The chat templates by name; `tokenizer.chat_template` itself is named "default". Empty ones count as absent.
    package func chatTemplates() throws(ModelFileError) -> [String: String] {
        let prefix = "tokenizer.chat_template."
        var templates: [String: String] = [:]
        for key in keys where key.utf8.starts(with: prefix.utf8) {
            templates[String(key.dropFirst(prefix.count))] = try string(key)
        }
        if let template = try stringIfPresent("tokenizer.chat_template") { templates["default"] = template }
        return templates.filter { !$0.value.allSatisfy(\.isWhitespace) }
    }

    private func perToken<T>(
        _ name: String, _ count: Int, _ get: (String) throws(ModelFileError) -> [T]?
    ) throws(ModelFileError) -> [T]? {
        let key = "tokenizer.ggml.\(name)"
        guard let values = try get(key) else { return nil }
        guard values.count == count else {
            throw ModelFileError(
                .badMetadata,
                "The metadata key '\(key)' must have one element for each of the \(count) tokens, but has "
                    + "\(values.count).", path: path)
        }
        return values
    }

    /// The token ID of the first key, or in older files of the second.
    private func tokenID(_ name: String, _ olderName: String, of count: Int) throws(ModelFileError) -> Int32? {
        if let id = try tokenID(name, of: count) { return id }
        return try tokenID(olderName, of: count)
    }

    /// A token ID; `nil` for -1, also as an unsigned 32-bit number.
    private func tokenID(_ name: String, of count: Int) throws(ModelFileError) -> Int32? {
        let key = "tokenizer.ggml.\(name)"
        guard let id = try intIfPresent(key), id != -1, id != UInt32.max else { return nil }
        return try checked(id, key, of: count)
    }

    /// Token IDs, from an array or a single one.
    private func tokenIDs(_ name: String, of count: Int) throws(ModelFileError) -> [Int32] {
        let key = "tokenizer.ggml.\(name)"
        guard self[key]?.type == .array else { return try tokenID(name, of: count).map { [$0] } ?? [] }
        var ids: [Int32] = []
        for id in try intsIfPresent(key) ?? [] { ids.append(try checked(id, key, of: count)) }
        return ids
    }

    private func checked(_ id: Int, _ key: String, of count: Int) throws(ModelFileError) -> Int32 {
        guard (0..<count).contains(id), let id = Int32(exactly: id) else {
            throw ModelFileError(
                .badMetadata, "The metadata key '\(key)' is \(id), but there are only \(count) tokens.", path: path)
        }
        return id
    }
}
