import Testing

/// How providers of others recognize the 27 SDK.
@Suite struct ModuleVersionTests {
    @Test func `the module is version 2, and no later one`() {
        #if canImport(FoundationModels, _version: 3)
            let version = 3
        #elseif canImport(FoundationModels, _version: 2)
            let version = 2
        #else
            let version = 1
        #endif
        #expect(version == 2)
    }
}
