// swift-tools-version: 6.1
import PackageDescription

private func product(_ name: String) -> Target.Dependency { .product(name: name, package: "LocalLLM") }

private let common: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// libFuzzer harnesses, in a package of their own so that the ordinary build does not see them: `make fuzz`.
let package = Package(
    name: "Fuzz",
    dependencies: [.package(name: "LocalLLM", path: "../..")],
    targets: [
        .executableTarget(name: "FuzzRequestParser", dependencies: [product("HTTP")]),
        .executableTarget(name: "FuzzResponseParser", dependencies: [product("HTTP")]),
        .executableTarget(name: "FuzzEvents", dependencies: [product("HTTP"), product("Wire")]),
        .executableTarget(name: "FuzzTemplate", dependencies: [product("Template")]),
        .executableTarget(name: "FuzzConstraint", dependencies: [product("Constraint")]),
        .executableTarget(name: "FuzzGGUF", dependencies: [product("LocalLLM")]),
        .executableTarget(name: "FuzzImage", dependencies: [product("LocalLLM")]),
        .executableTarget(name: "FuzzGeneration", dependencies: [product("LocalLLM"), "FuzzSupport"]),
        .executableTarget(
            name: "FuzzWholePath", dependencies: ["FuzzedShim", product("LocalLLM"), product("HTTP"), "FuzzSupport"]),
        // The server as a library: its `main` gives way to libFuzzer's. A target's name may be there once in all packages.
        .target(
            name: "FuzzedShim",
            dependencies: [
                "FuzzedCommandLineParsing", product("Constraint"), product("LocalLLM"), product("HTTP"),
                product("Template"), product("Tokenizer"), product("Wire"),
            ],
            resources: [.embedInCode("Page")],
            swiftSettings: common + [
                // Built faster than it would run faster.
                .unsafeFlags(["-Onone"]),
                .unsafeFlags([
                    "-Xfrontend", "-entry-point-function-name", "-Xfrontend", "shim_main",
                    "-module-alias", "CommandLineParsing=FuzzedCommandLineParsing",
                ]),
            ]),
        .target(name: "FuzzedCommandLineParsing", swiftSettings: common),
        .target(name: "FuzzSupport", swiftSettings: common),
    ],
    swiftLanguageModes: [.v6]
)
