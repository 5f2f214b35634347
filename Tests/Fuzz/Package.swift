// swift-tools-version: 6.1
import PackageDescription

// libFuzzer harnesses, in a package of their own so that the ordinary build does not see them: `make fuzz`.
let package = Package(
    name: "Fuzz",
    dependencies: [.package(name: "LocalLLM", path: "../..")],
    targets: [
        .executableTarget(name: "FuzzRequestParser", dependencies: [.product(name: "HTTP", package: "LocalLLM")]),
        .executableTarget(name: "FuzzGGUF", dependencies: [.product(name: "LocalLLM", package: "LocalLLM")]),
    ],
    swiftLanguageModes: [.v6]
)
