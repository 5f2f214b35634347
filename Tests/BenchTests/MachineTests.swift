import CommandLineParsing
import Foundation
import LocalLLM
import TestSupport
import Testing
import Tiers

@testable import Bench

@Suite struct MachineTests {
    @Test func `thread counts double up to the last`() {
        #expect(MachineCommand.doubling(to: 1) == [1])
        #expect(MachineCommand.doubling(to: 2) == [1, 2])
        #expect(MachineCommand.doubling(to: 12) == [1, 2, 4, 8, 12])
    }

    @Test func `the table is Markdown, in billions a second`() {
        let row = MachineMeasurement(
            threads: 2, readBandwidth: 20e9, floatPeak: 2e11, wordPeak: 3e11, bytePeak: 6.04e11)
        let output = MachineCommand.Output(
            cpu: "A Processor", memoryBytes: 512 << 20, mayUseHugePages: true, results: [.init(row)])
        #expect(
            MachineCommand.render(output) == """
                | threads | read GB/s | f32 GFLOP/s | i16 GOP/s | i8 GOP/s |
                | ------: | --------: | ----------: | --------: | -------: |
                |       2 |      20.0 |       200.0 |     300.0 |    604.0 |

                A Processor, 512 MiB read, huge pages where free
                """)
    }

    @Test func `each tier has its loops, and everything is above zero`() async throws {
        for tier in KernelTier.available {
            let result = try await Program.bench.run(
                "machine", "-t", "1,2", "--memory", "4", "--tier", tier.rawValue, "-o", "json")
            #expect(result.code == 0)
            let object = try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
            #expect(object["memory_bytes"] as? Int == 4 << 20)
            let rows = try #require(object["results"] as? [[String: Any]])
            #expect(rows.map { $0["n_threads"] as? Int } == [1, 2])
            for row in rows {
                for name in ["read_bps", "float_ops", "int16_ops", "int8_ops"] {
                    #expect(try #require(row[name] as? Double) > 0, "\(name)")
                }
            }
        }
    }

    @Test func `kernels of each tier are right`() async throws {
        for tier in KernelTier.available {
            let result = try await Program.bench.run(
                "kernels", "--tier", tier.rawValue, "--format", "Q4_K,F32", "--seconds", "0", "-o", "json")
            #expect(result.complaints == "")
            #expect(result.code == 0)
            let rows = try #require(try JSONSerialization.jsonObject(with: result.output) as? [[String: Any]])
            let names = rows.compactMap { $0["kernel"] as? String }
            #expect(
                names.starts(with: ["dequantize Q4_K", "dot Q4_K", "dot x4 Q4_K", "product Q4_K", "dequantize F32"]))
            #expect(names.contains("rmsNorm"))
            for row in rows {
                #expect(row["ok"] as? Bool == true)
                #expect(try #require(row["ns"] as? Double) > 0)
            }
        }
    }

    @Test func `a kernel with too large an error, or none that is a number, is wrong`() {
        func measurement(_ error: Double) -> KernelMeasurement {
            KernelMeasurement(name: "k", seconds: 1e-6, work: 2000, unit: .values, error: error, limit: 1e-4)
        }
        #expect(measurement(1e-4).isRight)
        #expect(!measurement(1.1e-4).isRight)
        #expect(!measurement(.nan).isRight)
        #expect(
            KernelsCommand.render([measurement(0), measurement(0.5)].map(KernelsCommand.Row.init)) == """
                | kernel |   µs |  G/s | of     |   error | check |
                | ------ | ---: | ---: | ------ | ------: | ----- |
                | k      | 1.00 | 2.00 | values | 0.0e+00 | ok    |
                | k      | 1.00 | 2.00 | values | 5.0e-01 | WRONG |
                """)
    }

    @Test func `formats and times that are not there are refused`() {
        func command(_ arguments: String...) throws(UsageError) -> KernelsCommand {
            try KernelsCommand(Arguments(arguments, options: KernelsCommand.options))
        }
        #expect(try! command("--format", "Q4_0,Q8_0").formats == ["Q4_0", "Q8_0"])
        #expect(try! command("--format", "none").formats == [])
        #expect(try! command().formats.count > 20)
        #expect(throws: UsageError.self) { try command("--format", "Q4_Z") }
        #expect(throws: UsageError.self) { try command("--seconds", "-1") }
        #expect(throws: UsageError.self) { try command("--tier", "sse") }
    }
}
