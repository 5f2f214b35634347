// swift-tools-version: 6.1
import PackageDescription

private func product(_ name: String) -> Target.Dependency { .product(name: name, package: "LocalLLM") }

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
    ],
    swiftLanguageModes: [.v6]
)
