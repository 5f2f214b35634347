#!/usr/bin/env bash
# Uses this package from another one, as docs/install.md says: Tests/Fresh/dependency.sh FOLDER
#
#   FOLDER   where the tagged repository and the app are made; must not exist yet
#
# The app is built twice, in debug: with FoundationModels and its macros, and with LocalLLM alone and no macros. Each then asks the
# bundled model. Run it in a bare system to try another compiler; it needs git, and the packages that `make run` installs.
set -euo pipefail

root=${1:?usage: Tests/Fresh/dependency.sh FOLDER}
[[ ! -e $root ]] || { echo "error: '$root' exists" >&2; exit 2; }
clone=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
mkdir -p "$root/App/Sources/Asks" "$root/App/Sources/Generates"
root=$(realpath "$root")
version=$(sed -n 's/^let version = "\(.*\)"$/\1/p' "$clone/Sources/Shim/Shim.swift")
git clone -q "$clone" "$root/LocalLLM"
git -C "$root/LocalLLM" tag "$version"

# SwiftPM before 6.2 refuses the kernels' compiler flags in a dependency on a version.
if swift --version 2>/dev/null | grep -q 'Swift version 6\.[01]'; then
    requirement="revision: \"$(git -C "$root/LocalLLM" rev-parse HEAD)\""
else
    requirement="from: \"$version\""
fi
cat >"$root/App/Package.swift" <<END
// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "App",
    dependencies: [.package(url: "file://$root/LocalLLM", $requirement)],
    targets: [
        .executableTarget(name: "Asks", dependencies: [.product(name: "LocalLLM", package: "LocalLLM")]),
        .executableTarget(name: "Generates", dependencies: [.product(name: "FoundationModels", package: "LocalLLM")]),
    ])
END
cat >"$root/App/Sources/Asks/Asks.swift" <<'END'
import Foundation
import LocalLLM

@main struct Asks {
    static func main() async throws {
        let model = try await LocalModel.load(from: URL(fileURLWithPath: CommandLine.arguments[1]))
        for try await piece in model.generate([.user("What is the capital of France?")], options: .init(temperature: 0)) {
            print(piece.text, terminator: "")
        }
        print()
    }
}
END
cat >"$root/App/Sources/Generates/Generates.swift" <<'END'
import Foundation
import FoundationModels

@Generable struct City {
    @Guide(description: "The city's name") var name: String
}

@main struct Generates {
    static func main() async throws {
        let model = SystemLanguageModel(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
        let session = LanguageModelSession(model: model, instructions: "Be brief.")
        print(try await session.respond(to: "What is the capital of France?", generating: City.self).content.name)
    }
}
END

cd "$root/App"
echo "== $(swift --version 2>/dev/null | grep -o -m1 'Swift version [0-9.]*'), $requirement"
model=$root/LocalLLM/models/hearth-4m.gguf
LOCALLLM_WITHOUT_MACROS=1 swift build --scratch-path .build/plain --product Asks
.build/plain/debug/Asks "$model"
echo "== without macros it answers"
swift build --product Generates
.build/debug/Generates "$model"
echo "== with macros it answers"
