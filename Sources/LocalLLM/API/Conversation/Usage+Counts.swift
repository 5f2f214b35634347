extension Usage {
    /// Counts without times, as services report them.
    package init(promptTokens: Int, cachedTokens: Int, completionTokens: Int) {
        self.init(
            promptTokens: promptTokens, cachedTokens: cachedTokens, completionTokens: completionTokens,
            secondsToFirstToken: 0, decodeSeconds: 0)
    }
}
