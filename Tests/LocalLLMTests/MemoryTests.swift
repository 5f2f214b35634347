import Foundation
import Platform
import TestSupport
import Testing

@testable import LocalLLM

@Suite struct MemoryTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    // MARK: What there is

    /// A system of these files.
    private func available(_ files: KeyValuePairs<String, String>) throws -> Int {
        let root = directory.url.appendingPathComponent(UUID().uuidString)
        for (path, text) in files {
            let file = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return SystemMemory.available(root: root.path)
    }

    private let machine = "MemTotal:  16000000 kB\nMemFree: 10 kB\nMemAvailable:    8000 kB\n"

    @Test func `without a control group it is what the kernel says`() throws {
        #expect(try available(["proc/meminfo": machine]) == 8000 << 10)
        #expect(try available(["proc/meminfo": machine, "proc/self/cgroup": "0::/\nrubbish\n"]) == 8000 << 10)
        #expect(try available([:]) == 1 << 30)
    }

    @Test func `a limit of version 2 counts, and files that can be dropped do not`() throws {
        let group = "sys/fs/cgroup/user/app"
        let stat = "anon 900000\nfile 300000\ninactive_file 100000\nactive_file 150000\n"
        #expect(
            try available([
                "proc/meminfo": machine, "proc/self/cgroup": "0::/user/app\n", "\(group)/memory.max": "2000000\n",
                "\(group)/memory.current": "1200000\n", "\(group)/memory.stat": stat,
            ]) == 2_000_000 - 1_200_000 + 250_000)
        #expect(
            try available([
                "proc/meminfo": machine, "proc/self/cgroup": "0::/user/app\n", "\(group)/memory.max": "1000\n",
                "\(group)/memory.current": "5000\n",
            ]) == 0)
    }

    @Test func `the tightest of the groups above counts too`() throws {
        #expect(
            try available([
                "proc/meminfo": machine, "proc/self/cgroup": "0::/user/app\n",
                "sys/fs/cgroup/user/app/memory.max": "max\n",
                "sys/fs/cgroup/user/app/memory.current": "1000\n", "sys/fs/cgroup/user/memory.max": "5000\n",
                "sys/fs/cgroup/user/memory.current": "2000\n",
            ]) == 3000)
    }

    @Test func `a limit of version 1 counts, also where a container sees its group as the root`() throws {
        let root = "sys/fs/cgroup/memory"
        #expect(
            try available([
                "proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/123\n3:cpu:/docker/123\n0::/\n",
                "\(root)/memory.limit_in_bytes": "3000000\n", "\(root)/memory.usage_in_bytes": "1000000\n",
                "\(root)/memory.stat": "inactive_file 7\ntotal_inactive_file 200000\ntotal_active_file 50000\n",
            ]) == 3_000_000 - 1_000_000 + 250_000)
        #expect(
            try available([
                "proc/meminfo": machine, "proc/self/cgroup": "4:memory:/\n",
                "\(root)/memory.limit_in_bytes": "9223372036854771712\n", "\(root)/memory.usage_in_bytes": "1000000\n",
            ]) == 8000 << 10)
    }

    /// `ulimit -v`.
    @Test func `a limited address space counts, and no limit does not`() throws {
        let limits = { (limit: String) in
            "Limit                     Soft Limit           Hard Limit           Units     \n"
                + "Max address space         \(limit)           unlimited            bytes     \n"
        }
        let large = "MemAvailable:    80000000 kB\n"
        let status = "Name: shim\nVmPeak: 3000000 kB\nVmSize:\t 1000000 kB\n"
        #expect(
            try available([
                "proc/meminfo": large, "proc/self/limits": limits("4000000000"), "proc/self/status": status,
            ]) == 4_000_000_000 - (1_000_000 << 10) - (256 << 20))
        #expect(
            try available([
                "proc/meminfo": large, "proc/self/limits": limits("1000000000"), "proc/self/status": status,
            ]) == 0)
        #expect(
            try available([
                "proc/meminfo": machine, "proc/self/limits": limits("unlimited"), "proc/self/status": status,
            ]) == 8000 << 10)
    }

    // MARK: What it takes

    private func estimate(
        _ model: TinyModel = .init(), _ configuration: LocalModel.Configuration = .init(), available: Int = 1 << 30
    ) throws -> MemoryEstimate {
        let file = try GGUFFile(path: model.write(in: directory).path)
        return try MemoryEstimate(file, configuration, available: available)
    }

    @Test func `weights are what the tensors take, the cache what the context does`() throws {
        let model = TinyModel()
        let estimate = try estimate(model)
        #expect(estimate.weights == 4 * model.weights().values.reduce(0) { $0 + $1.count })
        #expect(estimate.contextSize == model.context)
        let bytesOfToken = model.layers * model.kvHeads * 2 * model.headWidth * 2
        #expect(estimate.cache == model.context * bytesOfToken)
        #expect(estimate.scratch > 0 && estimate.vocabulary > 0)
        let total = estimate.weights + estimate.cache + estimate.scratch + estimate.vocabulary
        #expect(estimate.total == total && estimate.fits)
        #expect(try self.estimate(available: total).fits)
        #expect(try !self.estimate(available: total - 1).fits)
        let bytes = try self.estimate(.init(), .init(cacheFormat: .q8_0))
        #expect(bytes.cache < estimate.cache)
    }

    @Test func `without a wish the context shrinks to half of what is left, but not to nothing`() throws {
        var model = TinyModel()
        model.context = 1 << 20
        let whole = try estimate(model)
        let rest = whole.total - whole.cache
        #expect(try estimate(model, available: 4 << 30).contextSize == 1 << 20)
        let shrunk = try estimate(model, available: rest + whole.cache)
        #expect(shrunk.contextSize == 1 << 19 && shrunk.fits)
        let least = try estimate(model, available: rest)
        #expect(least.contextSize == MemoryEstimate.leastContext && !least.fits)
        #expect(try estimate(model, .init(contextSize: 100), available: rest + whole.cache).contextSize == 100)
    }

    @Test func `what cannot fit is refused with the numbers before anything is loaded`() async throws {
        let url = try TinyModel().write(in: directory)
        let error = await #expect(throws: LocalModelError.self) {
            try await LocalModel.load(from: url, configuration: .init(contextSize: Int(Int32.max)))
        }
        guard case .insufficientMemory(let estimate) = error else { Issue.record("\(error as Any)"); return }
        #expect(estimate.cache == 1 << 39 && estimate.contextSize == Int(Int32.max) && !estimate.fits)
        #expect(error?.description.contains("549.8 GB for the keys and values of 2147483647 tokens") == true)
        #expect(try LocalModel.estimate(of: url).fits)
        #expect(throws: LocalModelError.self) {
            try LocalModel.estimate(of: url, configuration: .init(contextSize: .max))
        }
    }

    @Test func `a file says what it holds without being loaded`() throws {
        let url = try TinyModel().write(in: directory, as: "m.gguf")
        let info = try LocalModel.info(of: url)
        #expect(info.name == "tiny" && info.architecture == "llama" && info.quantization == "F32")
        try LocalModel.checkHeader(of: url)
        let bytes = try [UInt8](Data(contentsOf: url))
        let cut = URL(filePath: try directory.write(Array(bytes.dropLast()), as: "cut.gguf"))
        #expect(throws: ModelFileError.self) { try LocalModel.info(of: cut) }
        #expect(throws: ModelFileError.self) { try LocalModel.checkHeader(of: cut) }
    }
}
