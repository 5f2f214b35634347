@testable import HTTP

/// What a sequence of bytes parses to.
struct Outcome: Equatable {
    struct Message: Equatable {
        var head: RequestHead
        var body: [UInt8] = []
        var isWhole = false
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    var messages: [Message] = []
    var error: RequestError?

    init(_ pieces: [ArraySlice<UInt8>], limits: Limits = .init()) {
        var parser = RequestParser(limits: limits)
        do {
            for piece in pieces {
                parser.append(piece)
                while let event = try parser.next() {
                    switch event {
                    case .head(let head): messages.append(Message(head: head))
                    case .body(let bytes): messages[messages.count - 1].body += bytes
                    case .end: messages[messages.count - 1].isWhole = true
                    }
                }
            }
        } catch {
            self.error = error
        }
    }
}

/// The outcome, and every way of cutting the bytes that comes to another one.
func parse(_ text: String, limits: Limits = .init()) -> (outcome: Outcome, differing: [String]) {
    parse(Array(text.utf8), limits: limits)
}

func parse(_ bytes: [UInt8], limits: Limits = .init()) -> (outcome: Outcome, differing: [String]) {
    let whole = Outcome([bytes[...]], limits: limits)
    var differing: [String] = []
    if Outcome(bytes.indices.map { bytes[$0...$0] }, limits: limits) != whole { differing.append("byte by byte") }
    for cut in bytes.indices where Outcome([bytes[..<cut], bytes[cut...]], limits: limits) != whole {
        differing.append("cut at \(cut)")
    }
    return (whole, differing)
}

/// A request with the given header lines, `Host` before them, and whatever follows the head.
func request(_ lines: [String], _ rest: String = "", method: String = "POST") -> String {
    (["\(method) / HTTP/1.1", "Host: a"] + lines + ["", rest]).joined(separator: "\r\n")
}
