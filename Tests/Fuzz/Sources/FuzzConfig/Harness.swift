import CommandLineParsing
import Foundation

@testable import Shim

private let folder: URL = {
    let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "fuzz-config-\(getpid())")
    try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try! Data("GGUF".utf8).write(to: folder.appending(path: "a.gguf"))
    return folder
}()

// Nothing may trap, whatever the file says; an error names the file and says something.
private func check(_ bytes: [UInt8]) {
    let file = folder.appending(path: "shim.json")
    try! Data(bytes).write(to: file)
    do throws(UsageError) {
        _ = try Options(
            Arguments(["--config", file.path], options: Options.all(.none)), environment: ["XDG_DATA_HOME": "/nowhere"])
    } catch {
        precondition(!error.description.isEmpty, "an error without a word")
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
