@testable import HTTP

/// What a sequence of bytes parses to, as the answer to one request.
struct ResponseOutcome: Equatable {
    var heads: [ResponseParser.Head] = []
    var body: [UInt8] = []
    var isWhole = false
    var mayEndHere = false
    var error: RequestError?

    var text: String { String(decoding: body, as: UTF8.self) }

    init(_ pieces: [ArraySlice<UInt8>], limits: Limits = .init()) {
        var parser = ResponseParser(limits: limits)
        do {
            for piece in pieces {
                parser.append(piece)
                while !isWhole, let event = try parser.next() {
                    switch event {
                    case .head(let head): heads.append(head)
                    case .body(let bytes): body += bytes
                    case .end: isWhole = true
                    }
                }
            }
            mayEndHere = parser.mayEndHere
        } catch {
            self.error = error
        }
    }
}
