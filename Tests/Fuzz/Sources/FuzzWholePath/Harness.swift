@testable import AppGateway
import Foundation
import HTTP
@testable import LocalLLM
import TestSupport

@testable import Shim

/// A server with a tiny model behind it, in this process.
private let port: UInt16 = {
    let ready = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var port: UInt16 = 0
    Task {
        let directory = try TemporaryDirectory()
        var description = TinyModel()
        (description.layers, description.width, description.feedForward, description.context) = (1, 32, 32, 256)
        var loading = LocalModel.Configuration(threads: 1)
        loading.cacheTokens = 4096
        let file = try description.write(in: directory, as: "Test-Q4.gguf")
        let model = try await LocalModel.load(from: file, configuration: loading)
        let models = ModelStore(
            ModelCatalog(files: [file]),
            tools: .init(load: { _, _ in model }, estimate: { _ in throw CancellationError() }))
        models.only?.finishLoading(.success(model))
        let services = Services(models: models)
        let door = FrontDoor(
            keys: try APIKeys(file: nil, variable: nil), routes: { .all }, origins: OriginPolicy(),
            next: { try await runHandler($0, services) })
        var configuration = Server.Configuration(host: "127.0.0.1", port: 0, errorResponse: errorResponse)
        configuration.makeNotes = { RequestTrace() }
        let server = try await Server.start(configuration, handler: door.respond)
        port = server.port
        ready.signal()
        try await Task.sleep(for: .seconds(Int64.max / 2))
        withExtendedLifetime((server, directory)) {}
    }
    ready.wait()
    return port
}()

/// Whatever is sent, there is an answer, and it is none of the server's own errors.
private func check(_ bytes: [UInt8]) {
    guard let cut = bytes.firstIndex(of: 0x0a) else { return }
    let path = bytes[..<cut].filter { $0 > 0x20 && $0 < 0x7f && $0 != 0x23 }
    let body = bytes[(cut + 1)...]
    let head = """
        POST \(String(decoding: path, as: UTF8.self)) HTTP/1.1\r
        Host: localhost\r
        Content-Type: application/json\r
        Connection: close\r
        Content-Length: \(body.count)\r
        \r

        """
    do {
        let client = try SocketClient(port: port, timeout: 600)
        try client.send(Array(head.utf8) + body)
        let answer = try client.receiveAll()
        let status = Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3))
        precondition(WholePathRequests.statuses.contains(status ?? 0), "answered with \(answer)")
        // A stream can fail after its beginning, too.
        precondition(!answer.contains("server_error") || status == 501, "answered with \(answer)")
    } catch {
        preconditionFailure("no answer: \(error)")
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
