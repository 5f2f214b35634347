import CommandLineParsing
import Foundation
import LocalLLM
import TestSupport
import Testing

@testable import Bench

@Suite struct ProfileTests {
    private let machine = MachineMeasurement(
        threads: 2, readBandwidth: 10e9, floatPeak: 100e9, wordPeak: 0, bytePeak: 200e9)

    @Test func `a part is limited by what takes longer, reading or computing`() throws {
        let parts = [
            ProfiledPart(name: "ffn_down", seconds: 0.2, bytes: 1e9, byteOperations: 2e9),
            ProfiledPart(name: "attention", seconds: 0.1, bytes: 1e8, floatOperations: 5e9),
            ProfiledPart(name: "norm", seconds: 0.1),
        ]
        let profile = ProfileCommand.profile(.init(generate: 2), parts, seconds: 0.5, on: machine)
        #expect(profile.steps == 2)
        #expect(profile.parts.map(\.name) == ["ffn_down", "attention", "norm", "between parts"])
        #expect(profile.parts.map(\.limit) == [.reading, .computing, nil, nil])
        let shares = profile.parts.map { $0.limitShare.map { ($0 * 100).rounded() } }
        #expect(shares == [50, 50, nil, nil])
        #expect(profile.parts.map { ($0.share * 100).rounded() } == [40, 20, 20, 20])
        let table = ProfileCommand.render(
            .init(cpu: "A Processor", kernels: "AVX2", threads: 2, profiles: [profile]))
        #expect(
            table == """
                | tg2           |                  |   time | ms a token | of limit | limit     |
                | ------------- | ---------------- | -----: | ---------: | -------: | --------- |
                | ffn_down      | ████████████████ | 40.0 % |    100.000 |     50 % | reading   |
                | attention     | ████████         | 20.0 % |     50.000 |     50 % | computing |
                | norm          | ████████         | 20.0 % |     50.000 |          |           |
                | between parts | ████████         | 20.0 % |     50.000 |          |           |

                kernels: AVX2, 2 threads, A Processor
                """)
    }

    @Test func `the program profiles a prompt and an answer`() async throws {
        let directory = try TemporaryDirectory()
        let file = try TinyModel().write(in: directory)
        let result = try await Program.bench.run(
            "profile", "-m", file.path, "-p", "9", "-n", "3", "-b", "2", "-t", "1", "-o", "json")
        #expect(result.code == 0)
        let object = try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
        let profiles = try #require(object["profiles"] as? [[String: Any]])
        #expect(profiles.map { $0["test"] as? String } == ["pp9 x2", "tg3 x2"])
        for profile in profiles {
            let parts = try #require(profile["parts"] as? [[String: Any]])
            let shares = parts.compactMap { $0["share"] as? Double }
            #expect(abs(shares.reduce(0, +) - 1) < 1e-6)
            #expect(parts.contains { $0["name"] as? String == "attention" })
        }
    }

    @Test func `nothing to measure is refused`() {
        #expect(throws: UsageError("-p and -n are both 0: nothing to measure")) {
            try ProfileCommand(
                Arguments(
                    ["-m", "/model.gguf", "-p", "0", "-n", "0"], options: Bench.allOptions(of: ProfileCommand.self)))
        }
    }
}
