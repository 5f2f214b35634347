// swift-tools-version: 6.2
import CompilerPluginSupport
import Foundation
import PackageDescription

// Settings every Swift target shares.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// Generic functions are not specialized for each type: these modules then build in half the time, and a request takes up to an
// eighth more processor time outside the model. Too slow for modules that loop over weights, vocabularies or masks.
let unspecialized =
    common + [.unsafeFlags(["-Xllvm", "-sil-disable-pass=generic-specializer"], .when(configuration: .release))]

// Hot loops over raw pointers: no overflow or precondition traps to branch on.
// A versioned dependency may have unsafe flags from tools version 6.2 on.
let kernel = common + [.unsafeFlags(["-Ounchecked"], .when(configuration: .release))]

// Tests that compute little are built faster than they would run faster.
let tests = common + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

// Builds the kernels for AVX-512 with functions for AVX2 in place of the instructions, and their tests alone.
let emulatesAVX512 = Context.environment["LOCALLLM_EMULATE_AVX512"] != nil

// The tiers of kernels are those of the processor that is built for; a cross build names it.
#if arch(x86_64)
    let host = "x86_64"
#elseif arch(arm64)
    let host = "arm64"
#else
    let host = "other"
#endif
let avx2Flags = ["avx2", "fma", "f16c"].flatMap { ["-Xcc", "-m\($0)"] }
let avx512Flags =
    avx2Flags + ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"].flatMap { ["-Xcc", "-m\($0)"] }
let avxVNNIFlags = avx2Flags + ["-Xcc", "-mavxvnni"]
let tierTargets: [Target] =
    switch Context.environment["LOCALLLM_ARCHITECTURE"] ?? host {
    case "x86_64":
        [
            .target(
                name: "KernelsAVX2", dependencies: ["CIntrinsics", "KernelFormats", "KernelsFloat"],
                path: "Sources/Kernels/AVX2", swiftSettings: kernel + [.unsafeFlags(avx2Flags)]),
            .target(
                name: "KernelsAVXVNNI", dependencies: ["CIntrinsics", "KernelFormats", "KernelsFloat", "KernelsAVX2"],
                path: "Sources/Kernels/AVXVNNI", swiftSettings: kernel + [.unsafeFlags(avxVNNIFlags)]),
            .target(
                name: "KernelsAVX512", dependencies: ["CIntrinsics", "KernelFormats", "KernelsFloat", "KernelsAVX2"],
                path: emulatesAVX512 ? "Tests/EmulatedAVX512" : "Sources/Kernels/AVX512",
                exclude: emulatesAVX512 ? ["Kernels/Results.swift"] : [],
                swiftSettings: kernel + [.unsafeFlags(emulatesAVX512 ? avx2Flags : avx512Flags)]),
        ]
    case "arm64":
        [
            .target(
                name: "KernelsNEON", dependencies: ["CIntrinsics", "KernelFormats", "KernelsFloat"],
                path: "Sources/Kernels/NEON",
                swiftSettings: kernel + [.unsafeFlags(["-Xcc", "-march=armv8.2-a+dotprod"])]),
            .target(
                name: "KernelsNEONMatrix", dependencies: ["CIntrinsics", "KernelFormats", "KernelsNEON"],
                path: "Sources/Kernels/NEONMatrix",
                swiftSettings: kernel + [.unsafeFlags(["-Xcc", "-march=armv8.2-a+dotprod+i8mm+bf16"])]),
        ]
    default: []
    }
let tiers: [Target.Dependency] = tierTargets.map { .target(name: $0.name) }

// The macros are compiled against the SwiftSyntax that the toolchain brings. Its folder lies beside the library
// PackageDescription, which this manifest has mapped. `getline`, since Foundation reads a file of unknown size only in part.
let hostLibraries: String? = {
    guard Context.environment["LOCALLLM_WITHOUT_MACROS"] == nil else { return nil }
    guard let maps = fopen("/proc/self/maps", "r") else { return nil }
    var (line, capacity): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
    defer {
        free(line)
        fclose(maps)
    }
    while getline(&line, &capacity, maps) > 0 {
        let text = String(cString: line!)
        guard let start = text.firstIndex(of: "/"), let end = text.range(of: "/pm/ManifestAPI/") else { continue }
        let folder = text[start..<end.lowerBound] + "/host"
        return FileManager.default.fileExists(atPath: "\(folder)/SwiftSyntaxMacros.swiftmodule") ? String(folder) : nil
    }
    return nil
}()

// Without that folder the package builds without the macros `@Generable` and `@Guide` (docs/foundation-models.md).
let macroTargets: [Target] =
    hostLibraries.map { folder in
        [
            .macro(
                name: "LocalLLMMacros", path: "Sources/Macros",
                swiftSettings: common + [.unsafeFlags(["-I", folder])],
                linkerSettings: [
                    .unsafeFlags(["-L", folder, "-Xlinker", "-rpath", "-Xlinker", folder]),
                    .linkedLibrary("SwiftSyntax"), .linkedLibrary("SwiftSyntaxMacros"),
                    .linkedLibrary("SwiftSyntaxBuilder"), .linkedLibrary("SwiftCompilerPluginMessageHandling"),
                ])
        ]
    } ?? []
let macros: [Target.Dependency] = macroTargets.isEmpty ? [] : ["LocalLLMMacros"]
let macroSettings: [SwiftSetting] = macroTargets.isEmpty ? [] : [.define("LOCALLLM_MACROS")]

// Swift 6.0 takes minutes to type-check one long literal with sums in it: hence several arrays, and names for the sums.

// Checks of exclusive access would cost the walk over the vocabulary a third of its time.
let constraint = common + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

// The Observation library of Swift 6.0 refers to a function that no library has; nothing calls it.
#if compiler(<6.1)
    let linking: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "--allow-shlib-undefined"])]
#else
    let linking: [LinkerSetting] = []
#endif

let engine: [Target.Dependency] = [
    "Compute", "Constraint", "Cryptography", "Dialects", "Engine", "GGUF", "JSON", "KernelFormats", "KernelsPortable",
    "Networks", "Platform", "Template", "Tiers", "Tokenizer",
]
// Apple's systems have the module already. Its version is what `#if canImport(FoundationModels, _version: 2)` asks for, and its
// asynchronous functions run where they are called, as Apple's do.
#if os(Linux)
    let surface: [Target] = [
        .target(
            name: "FoundationModels",
            dependencies: [
                "Constraint", "Dialects", "GGUF", "JSON", "LocalLLM", "Platform", "Template", "Tokenizer",
            ] + macros,
            swiftSettings: common + macroSettings + [
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .unsafeFlags(["-user-module-version", "2.0.62"]),
            ])
    ]
    let surfaceModule: [Target.Dependency] = ["FoundationModels"]
#else
    let surface: [Target] = []
    let surfaceModule: [Target.Dependency] = []
#endif

let kernelTests: [Target.Dependency] = ["CIntrinsics", "KernelFormats", "KernelsPortable", "TestSupport"] + tiers

let systemLibraries: [Target] = [
    .systemLibrary(name: "COpenBLAS", providers: [.apt(["libopenblas-dev"])]),
    .systemLibrary(
        name: "CImages", providers: [.apt(["libpng-dev", "libturbojpeg0-dev", "libwebp-dev"])]),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CMath", path: "Sources/Kernels/CMath"),
    .systemLibrary(name: "CIntrinsics", path: "Sources/Kernels/CIntrinsics"),
    .systemLibrary(name: "CEdit", providers: [.apt(["libedit-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
]

let libraries: [Target] = [
    .target(name: "Platform", swiftSettings: common),
    .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: common),
    .target(name: "JSON", swiftSettings: common),
    .target(name: "KernelFormats", path: "Sources/Kernels/Formats", swiftSettings: kernel),
    .target(
        name: "KernelsFloat", dependencies: ["CIntrinsics", "KernelFormats"], path: "Sources/Kernels/Float",
        swiftSettings: kernel),
    .target(
        name: "KernelsPortable", dependencies: ["CMath", "KernelFormats", "KernelsFloat"],
        path: "Sources/Kernels/Portable", swiftSettings: kernel),
    .target(name: "Template", dependencies: ["JSON", "Platform"], swiftSettings: common),
    .target(name: "Tokenizer", swiftSettings: common),
    .target(name: "Dialects", dependencies: ["JSON", "Template", "Tokenizer"], swiftSettings: common),
    .target(
        name: "Constraint", dependencies: ["JSON", "Platform", "Tokenizer"],
        swiftSettings: constraint),
    .target(
        name: "GGUF",
        dependencies: ["JSON", "KernelFormats", "KernelsPortable", "Platform", "Tokenizer"], swiftSettings: common),
    .target(
        name: "Compute",
        dependencies: ["CIntrinsics", "COpenBLAS", "GGUF", "KernelFormats", "KernelsPortable", "Platform"],
        swiftSettings: common),
    .target(name: "Tiers", dependencies: ["CIntrinsics", "Compute", "KernelFormats"] + tiers, swiftSettings: common),
    .target(
        name: "Networks", dependencies: ["CImages", "Compute", "GGUF", "KernelFormats", "KernelsPortable", "Platform"],
        swiftSettings: common),
    .target(
        name: "Engine",
        dependencies: [
            "CLinux", "Compute", "Constraint", "Cryptography", "Dialects", "GGUF", "KernelFormats", "KernelsPortable",
            "Networks", "Platform", "Tokenizer",
        ],
        swiftSettings: common),
    .target(
        name: "LocalLLM",
        dependencies: engine, swiftSettings: unspecialized, linkerSettings: linking),
    .target(name: "HTTP", dependencies: ["CLinux", "COpenSSL", "Platform"], swiftSettings: common),
    .target(name: "Wire", dependencies: ["Cryptography", "JSON"], swiftSettings: common),
    .target(
        name: "Providers", dependencies: ["Constraint", "JSON", "LocalLLM", "Template", "Wire"],
        swiftSettings: unspecialized),
    .target(
        name: "Client",
        dependencies: [
            "CLinux", "CSQLite", "Cryptography", "HTTP", "JSON", "LocalLLM", "Platform", "Providers", "Wire",
        ] + surfaceModule,
        swiftSettings: common),
    .target(name: "CommandLineParsing", dependencies: ["LocalLLM", "Platform"], swiftSettings: unspecialized),
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: common),
]

let programs: [Target] = [
    // Arrays of 200,000 numbers: optimizing them takes 12 seconds and gains nothing, and emitting the module's interface
    // separately reads them twice.
    .target(
        name: "ChatPage", path: "Sources/Shim/Page", resources: [.embedInCode("Files")],
        swiftSettings: common + [.unsafeFlags(["-Onone", "-gnone", "-no-emit-module-separately-wmo"])]),
    .target(
        name: "Shim",
        dependencies: [
            "CLinux", "ChatPage", "CommandLineParsing", "Constraint", "Cryptography", "Dialects", "HTTP", "JSON",
            "LocalLLM", "Platform", "Providers", "Template", "Tokenizer", "Wire",
        ],
        exclude: ["Page", "Program"], swiftSettings: unspecialized),
    .target(
        name: "AppGateway",
        dependencies: [
            "CommandLineParsing", "Cryptography", "HTTP", "JSON", "LocalLLM", "Platform", "Shim", "Tokenizer", "Wire",
        ],
        swiftSettings: unspecialized),
    .executableTarget(
        name: "ShimProgram", dependencies: ["AppGateway", "Shim"], path: "Sources/Shim/Program", swiftSettings: common),
    .executableTarget(
        name: "Chat", dependencies: ["CEdit", "Client", "LocalLLM", "CommandLineParsing"] + surfaceModule,
        // An example of what apps can do: it sees what they see.
        packageAccess: false, swiftSettings: common),
    .executableTarget(
        name: "Bench",
        dependencies: [
            "Constraint", "Dialects", "HTTP", "JSON", "LocalLLM", "Platform", "Template", "Tokenizer", "Wire",
            "CommandLineParsing",
        ],
        swiftSettings: common),
]

let testTargets: [Target] = [
    .testTarget(
        name: "KernelsTests",
        dependencies: kernelTests,
        swiftSettings: common),
    .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: common),
    .testTarget(
        name: "TemplateTests", dependencies: ["JSON", "Template", "TestSupport"], exclude: ["jinja-cases.json"],
        swiftSettings: common),
    .testTarget(
        name: "TokenizerTests", dependencies: ["Template", "Tokenizer", "TestSupport"], swiftSettings: common),
    .testTarget(
        name: "DialectsTests", dependencies: ["Dialects", "Template", "Tokenizer", "TestSupport"],
        swiftSettings: tests),
    .testTarget(
        name: "ConstraintTests", dependencies: ["Constraint", "JSON", "Tokenizer", "TestSupport"], swiftSettings: common
    ),
    .testTarget(
        name: "LocalLLMTests",
        dependencies: [
            "CImages", "Compute", "Constraint", "Cryptography", "Dialects", "Engine", "GGUF", "JSON", "LocalLLM",
            "Networks", "Platform", "Template", "Tiers", "Tokenizer", "KernelFormats", "TestSupport",
        ],
        swiftSettings: common),
    .testTarget(
        name: "FoundationModelsTests",
        dependencies: ["Dialects", "Engine", "JSON", "LocalLLM", "Template", "Tokenizer", "TestSupport"]
            + surfaceModule,
        // Without the macros their tests do not compile.
        exclude: macroTargets.isEmpty ? ["Generable"] : [],
        swiftSettings: tests),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP", "TestSupport"], swiftSettings: tests),
    .testTarget(
        name: "ClientTests",
        dependencies: ["Client", "Cryptography", "LocalLLM", "HTTP", "JSON", "Providers", "Wire", "TestSupport"]
            + surfaceModule,
        swiftSettings: tests),
    .testTarget(
        name: "WireTests", dependencies: ["Cryptography", "JSON", "Wire", "TestSupport"], swiftSettings: tests),
    .testTarget(
        name: "ChatTests",
        dependencies: ["CEdit", "Chat", "Client", "CSQLite", "HTTP", "TestSupport", "Tokenizer"] + surfaceModule,
        swiftSettings: tests),
    .testTarget(
        name: "BenchTests",
        dependencies: [
            "Bench", "CommandLineParsing", "HTTP", "JSON", "LocalLLM", "Tiers", "Tokenizer", "Wire", "TestSupport",
        ],
        swiftSettings: tests),
    .testTarget(
        name: "ShimTests",
        dependencies: [
            "AppGateway", "Constraint", "Dialects", "Engine", "JSON", "Providers", "Shim", "ShimProgram", "LocalLLM",
            "Template", "Tokenizer", "HTTP", "Wire", "CommandLineParsing", "TestSupport",
        ],
        swiftSettings: tests),
    // Reads the pages of docs/; what they show is compiled against all modules and tried with the programs.
    .testTarget(
        name: "DocsTests",
        dependencies: [
            "AppGateway", "Bench", "Chat", "Client", "CommandLineParsing", "JSON", "Shim", "ShimProgram", "TestSupport",
            "Wire",
        ] + surfaceModule,
        swiftSettings: tests + macroSettings),
]

let package = Package(
    name: "LocalLLM",
    products: [
        .library(name: "LocalLLM", targets: ["LocalLLM"]),
        .library(name: "Tokenizer", targets: ["Tokenizer"]),
        .library(name: "Template", targets: ["Template"]),
        .library(name: "Constraint", targets: ["Constraint"]),
        .library(name: "Client", targets: ["Client"]),
        .executable(name: "shim", targets: ["ShimProgram"]),
        .executable(name: "chat", targets: ["Chat"]),
        .executable(name: "bench", targets: ["Bench"]),
    ] + surface.map { .library(name: $0.name, targets: [$0.name]) },
    targets: tierTargets + macroTargets + systemLibraries + libraries + surface + programs + testTargets
)

// Harnesses of libFuzzer: `make fuzz`.
if Context.environment["LOCALLLM_FUZZ"] != nil {
    let harnesses: [String: [Target.Dependency]] = [
        "RequestParser": ["HTTP"], "ResponseParser": ["HTTP"], "Events": ["HTTP", "Wire"], "JSON": ["JSON"],
        "Template": ["Template"],
        "Constraint": ["Constraint"], "GGUF": ["GGUF"], "Image": ["Networks"],
        "SlotFile": ["Compute", "Cryptography", "Engine"],
        "PrefixDisk": ["Compute", "Cryptography", "Engine", "KernelFormats"],
        "Generation": ["LocalLLM", "TestSupport"], "Config": ["CommandLineParsing", "Shim"],
        "WholePath": ["AppGateway", "HTTP", "LocalLLM", "Shim", "TestSupport"],
    ]
    package.targets += harnesses.map { name, dependencies in
        .executableTarget(
            name: "Fuzz\(name)", dependencies: dependencies, path: "Tests/Fuzz/Sources/Fuzz\(name)",
            swiftSettings: common)
    }
}

if emulatesAVX512 {
    package.products.removeAll()
    package.targets.removeAll {
        !$0.name.hasPrefix("Kernel") && !["CIntrinsics", "CMath", "TestSupport"].contains($0.name)
    }
}
