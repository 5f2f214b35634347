import CommandLineParsing
import Foundation
import LocalLLM
import Testing

@testable import Bench

@Suite struct ModelOptionTests {
    private func configuration(_ words: String...) throws(UsageError) -> LocalModel.Configuration {
        try Arguments(words, options: ModelOption.all.map(\.option)).configuration(ModelOption.all)
    }

    @Test func `each option sets its member of the configuration`() throws {
        let configuration = try configuration(
            "-c", "512", "--threads", "3", "--tier", "portable", "--cache-type", "q8_0", "--quantize", "q4_k_m",
            "--experts-on-disk", "--unchecked", "--draft", "/d.gguf", "--mmproj", "/e.gguf", "--lora", "/a.gguf:0.5",
            "--lora", "/b.gguf")
        #expect(configuration.contextSize == 512 && configuration.threads == 3 && configuration.tier == .portable)
        #expect(configuration.cacheFormat == .q8_0 && configuration.quantization == "Q4_K_M")
        #expect(configuration.expertsOnDisk && configuration.allowsUnchecked)
        #expect(configuration.draftModel?.path == "/d.gguf")
        #expect(configuration.imageEncoder?.path == "/e.gguf")
        #expect(configuration.adapters.map(\.scale) == [0.5, 1])
        #expect(configuration.adapters.map(\.url.path) == ["/a.gguf", "/b.gguf"])
    }

    @Test(arguments: [
        ["--context", "0"], ["--threads", "1025"], ["--tier", "sse"], ["--cache-type", "q4_0"], ["--quantize", "Q9"],
    ])
    func `a wrong value is refused with the option, what is expected and what was found`(words: [String]) {
        let error = #expect(throws: UsageError.self) {
            try Arguments(words, options: ModelOption.all.map(\.option)).configuration(ModelOption.all)
        }
        #expect(error?.description.hasPrefix("\(words[0]): expected ") == true)
        #expect(error?.description.hasSuffix("found '\(words[1])'") == true)
    }

    @Test func `what loads a model is an option of each command that loads one`() {
        let loading = Bench.commands.filter { !$0.modelOptions.isEmpty }
        #expect(loading.count > 8)
        for command in loading {
            let names = Bench.allOptions(of: command).flatMap(\.names)
            for option in ModelOption.loading { #expect(names.contains(option.option.names.last!), "\(command.name)") }
            #expect(Set(names).count == names.count, "\(command.name) has an option twice")
        }
    }

    @Test func `values of a file stand back behind the command line, and errors name their place`() throws {
        let options = [Option("-p", "--n-port", value: "N", help: ""), Option("--models-dir", value: "DIR", help: "")]
        #expect(options.map(\.key) == ["n_port", "models_dir"])
        var arguments = try Arguments(["--models-dir", "a"], options: options)
        arguments.setDefault("--models-dir", ["b"], from: "f.json: models_dir")
        arguments.setDefault("--n-port", ["x"], from: "f.json: n_port")
        #expect(arguments.string("--models-dir") == "a")
        #expect(throws: UsageError("f.json: n_port: expected a whole number from 0, found 'x'")) {
            try arguments.int("-p")
        }
    }
}
