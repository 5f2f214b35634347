import Foundation
import TestSupport
import Testing

@testable import Shim

@Suite struct JournalTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.url.appendingPathComponent("state").path
    }

    private func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

    @Test func `a damaged line is set aside, and the others are kept`() throws {
        try write("{\"a\":1}\n{\"a\":\u{0}\n{\"a\":3}\n{\"a\"")
        let records = try Journal<[String: Int]>.read(path)
        #expect(records == [["a": 1], ["a": 3]])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged")) == Data("{\"a\":\u{0}\n".utf8))
        let permissions = try FileManager.default.attributesOfItem(atPath: path + ".damaged")[.posixPermissions]
        #expect(permissions as? Int == 0o600)
        _ = try Journal(path, records)
        #expect(try Journal<[String: Int]>.read(path) == records)
    }

    @Test func `a file of which nothing is whole is left as it is`() throws {
        try write("GGUF\nnothing\n")
        let error = #expect(throws: JournalError.self) { try Journal<[String: Int]>.read(path) }
        #expect(error?.description.hasPrefix("\(path): this is no state file: line 1") == true)
        #expect(!FileManager.default.fileExists(atPath: path + ".damaged"))
    }

    @Test func `a device is no state file`() throws {
        let error = #expect(throws: JournalError.self) { try Journal<[String: Int]>.read("/dev/full") }
        #expect(error?.description == "/dev/full: this is not a regular file")
    }

    // Older versions of swift-testing run no test in a process of its own.
    #if compiler(>=6.2)
        /// In a process of its own, whose files may not grow: the error is like that of a full disk.
        @Test func `a file that cannot be written is named, and the old one stays`() async throws {
            await #expect(processExitsWith: .exitCode(7)) {
                let directory = try TemporaryDirectory()
                let path = directory.url.appendingPathComponent("state").path
                var journal = try Journal(path, [["a": 1]])
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit(rlim_cur: 4, rlim_max: 4)
                guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(1) }
                do { try journal.append(["b": 2]) } catch {
                    guard "\(error)".contains("\(path): cannot be written: File too large") else { exit(2) }
                    do { _ = try Journal(path, [["a": 1], ["b": 2]]) } catch {
                        guard "\(error)".contains("\(path).new: cannot be written: File too large") else { exit(3) }
                        guard !FileManager.default.fileExists(atPath: path + ".new") else { exit(4) }
                        exit(try Journal<[String: Int]>.read(path) == [["a": 1]] ? 7 : 5)
                    }
                }
                exit(6)
            }
        }
    #endif
}
