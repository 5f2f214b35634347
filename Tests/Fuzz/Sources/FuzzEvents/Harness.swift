import Wire

/// What a stream is taken apart into.
private struct Relayed: Equatable {
    /// Without the last, which the stream's end made whole.
    var events: [[UInt8]] = []
    var rest: [UInt8] = []
    var isDone = false
    var failed = false

    init(_ pieces: [ArraySlice<UInt8>]) {
        var relay = EventRelay(hiding: "key")
        do {
            for piece in pieces {
                relay.append(piece)
                while !relay.isDone, let event = try relay.next() { events.append(event) }
                if relay.isDone { break }
            }
            if !relay.isDone { rest = try relay.end() }
        } catch {
            failed = true
        }
        isDone = relay.isDone
    }
}

private struct Texts {
    var texts: [[UInt8]] = []
    var failed = false

    init(_ pieces: [ArraySlice<UInt8>]) {
        var parser = ServerSentEventParser(limit: 64)
        do {
            for piece in pieces { texts += try parser.push(piece).map { Array($0.utf8) } }
        } catch {
            failed = true
        }
    }
}

// Nothing may trap, what a stream is taken apart into may not depend on how it was cut, and what is passed on is the
// stream's own bytes.
private func check(_ bytes: [UInt8]) {
    let cut = Int(bytes.last ?? 0) % (bytes.count + 1)
    let cuts = [[bytes[..<cut], bytes[cut...]], bytes.indices.map { bytes[$0...$0] }]

    let relayed = Relayed([bytes[...]])
    for pieces in cuts { precondition(Relayed(pieces) == relayed, "events depend on cuts, one at \(cut)") }
    let passed = relayed.events.joined() + relayed.rest
    precondition(bytes.starts(with: passed), "other bytes are passed on than came")
    precondition(relayed.failed || relayed.isDone || passed.count == bytes.count, "bytes were lost")

    // Of an event over the limit those before it in the same piece go with it: they are of no use without it.
    let texts = Texts([bytes[...]])
    for other in cuts.map(Texts.init) {
        precondition(other.failed == texts.failed, "an error depends on cuts, one at \(cut)")
        precondition(texts.failed || other.texts == texts.texts, "texts depend on cuts, one at \(cut)")
    }
}

/// What libFuzzer, whose library has the `main`, calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
