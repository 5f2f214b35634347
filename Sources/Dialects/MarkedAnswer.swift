/// Parses an answer whose reasoning and calls are between markers.
struct MarkedAnswer: Sendable {
    private enum State: Sendable {
        case thoughts
        /// A call begins at the cursor within unclosed reasoning. If the reasoning is closed later, the call was an
        /// example in it; if the answer ends, the model forgot to close the reasoning.
        case callInThoughts(searched: Int)
        case content
        /// At the beginning of an answer that may be calls without markers as a whole.
        case bareCalls(BareCalls)
        case arguments(ArgumentReader, CallOpening.Found)
        /// After the arguments, in the remainder of the call's object.
        case objectEnd(scanned: JSONTail, CallOpening.Found)
        case afterCall(syntax: Int, isInArray: Bool)
    }

    private let markers: Markers
    private let opening: CallOpening
    private let tools: [String: ArgumentSchema]
    private var text = PendingText()
    private var state = State.content
    /// Whether only white space, reasoning and markers have come so far.
    private var isAtStart = true
    private var hasThoughts = false
    private var trimsContent = false
    /// Whether the last text was the marker that ends reasoning.
    private var isAfterThoughts = false
    /// White space held back: part of the text only if more text follows.
    private var space: [UInt8] = []
    private var fence: FenceFilter?
    /// `nil` if calls without markers are content.
    private var bareCalls: BareCalls?
    private(set) var contentStart: Int?

    init(
        _ dialect: Dialect, tools: [DeclaredTool], after prompt: String, unwrapsFence: Bool, readsBareCalls: Bool
    ) {
        markers = Markers(dialect)
        opening = CallOpening(tools.isEmpty ? [] : dialect.calls, DeclaredNames(tools))
        self.tools = Dictionary(tools.map { ($0.name, $0.parameters) }) { first, _ in first }
        fence = unwrapsFence ? FenceFilter() : nil
        if readsBareCalls, !unwrapsFence, !tools.isEmpty { bareCalls = BareCalls(DeclaredNames(tools)) }
        // If the prompt ends with a marker, parse it first; its bytes do not count as the answer's.
        if let marker = markers.atEnd(of: prompt) {
            text.bytes = marker
            var ignored = DeltaList()
            advance(isLast: false, &ignored)
            virtual = marker.count
        }
    }

    /// Bytes of the prompt that are parsed as the beginning of the answer.
    private var virtual = 0
    /// Number of bytes at which to examine a possible call again; grows geometrically, so that the cost is linear.
    private var rescanCount = 0

    var isReasoning: Bool {
        switch state {
        case .thoughts, .callInThoughts: true
        case .content: isAfterThoughts
        default: false
        }
    }

    mutating func read(_ piece: String, isLast: Bool, _ output: inout DeltaList) {
        text.bytes += piece.utf8
        advance(isLast: isLast, &output)
        // White space alone is content too, unless it surrounds reasoning or calls.
        if isLast, case .content = state, contentStart != nil || !trimsContent { flush(&output) }
        text.release()
    }

    private mutating func advance(isLast: Bool, _ output: inout DeltaList) {
        guard isLast || text.bytes.count >= rescanCount else { return }
        defer {
            let held = text.bytes.count - text.cursor
            rescanCount = held > 1024 ? text.bytes.count + held / 4 : 0
            if case .bareCalls = state { rescanCount = 0 }
        }
        var isMoving = true
        while isMoving {
            switch state {
            case .thoughts: isMoving = thoughts(isLast, &output)
            case .callInThoughts(let searched): isMoving = callInThoughts(searched, isLast, &output)
            case .content: isMoving = content(isLast, &output)
            case .bareCalls(let reader): isMoving = bareCalls(reader, isLast, &output)
            case .arguments(let reader, let found): isMoving = arguments(reader, found, isLast, &output)
            case .objectEnd(let tail, let found): isMoving = objectEnd(tail, found, isLast, &output)
            case .afterCall(let syntax, let isInArray): isMoving = afterCall(syntax, isInArray, isLast, &output)
            }
        }
    }

    // MARK: Reasoning

    private mutating func thoughts(_ isLast: Bool, _ output: inout DeltaList) -> Bool {
        var place = text.cursor
        while place < text.bytes.count {
            switch text.match(markers.close, at: place, isLast: isLast) {
            case .full(let end):
                reason(upTo: place, isEnd: true, &output)
                text.cursor = end
                endThoughts()
                return true
            case .partial:
                reason(upTo: place, isEnd: false, &output)
                return false
            case .no: break
            }
            if !markers.contentOpen.isEmpty {
                switch text.match(markers.contentOpen, at: place, isLast: isLast) {
                case .full:
                    reason(upTo: place, isEnd: true, &output)
                    endThoughts()
                    return true
                case .partial:
                    reason(upTo: place, isEnd: false, &output)
                    return false
                case .no: break
                }
            }
            if opening.firstBytes.contains(text.bytes[place]) {
                switch opening.match(text, at: place, isFirst: false, isLast: isLast) {
                case .full:
                    reason(upTo: place, isEnd: false, &output)
                    state = .callInThoughts(searched: 0)
                    return true
                case .partial:
                    reason(upTo: place, isEnd: false, &output)
                    return false
                case .no: break
                }
            }
            place += 1
        }
        reason(upTo: place, isEnd: isLast, &output)
        return false
    }

    private mutating func endThoughts() {
        state = .content
        trimsContent = true
        isAfterThoughts = true
        space = []
    }

    /// Outputs reasoning, except white space that may belong to the markers.
    private mutating func reason(upTo end: Int, isEnd: Bool, _ output: inout DeltaList) {
        var bytes = text.bytes[text.cursor..<end]
        text.cursor = end
        if !hasThoughts, markers.trimsThoughtsStart { bytes = bytes.drop(while: isSpace) }
        guard !bytes.isEmpty else { return }
        hasThoughts = true
        if markers.trimsThoughtsEnd {
            let last = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? bytes.startIndex
            if last > bytes.startIndex {
                output.reasoning(space + bytes[..<last])
                space = Array(bytes[last...])
            } else {
                space += bytes
            }
            if isEnd { space = [] }
        } else {
            output.reasoning(bytes)
        }
    }

    private mutating func callInThoughts(_ searched: Int, _ isLast: Bool, _ output: inout DeltaList) -> Bool {
        var place = text.cursor + searched
        while place < text.bytes.count {
            switch text.match(markers.close, at: place, isLast: isLast) {
            case .full:
                reason(upTo: place, isEnd: false, &output)
                state = .thoughts
                return true
            case .partial:
                state = .callInThoughts(searched: place - text.cursor)
                return false
            case .no: place += 1
            }
        }
        state = .callInThoughts(searched: place - text.cursor)
        guard isLast else { return false }
        endThoughts()
        return true
    }

    // MARK: Content

    private mutating func content(_ isLast: Bool, _ output: inout DeltaList) -> Bool {
        var place = text.cursor
        while place < text.bytes.count {
            let byte = text.bytes[place]
            if isAtStart, isSpace(byte) {
                place += 1
                continue
            }
            let isCandidate = isAtStart || markers.firstBytes.contains(byte) || opening.firstBytes.contains(byte)
            guard isCandidate else {
                place += 1
                continue
            }
            switch special(at: place, isLast) {
            case .no:
                if isAtStart, let bareCalls, BareCalls.mayBegin(with: byte) {
                    take(spaceUpTo: place, &output)
                    text.cursor = place
                    state = .bareCalls(bareCalls)
                    self.bareCalls = nil
                    return true
                }
                if isAtStart, !isSpace(byte) { isAtStart = false }
                place += 1
            case .partial:
                if isAtStart { return false }
                write(text.bytes[text.cursor..<place], &output)
                text.cursor = place
                return false
            case .full(let special):
                if isAtStart {
                    take(spaceUpTo: place, &output)
                } else {
                    write(text.bytes[text.cursor..<place], &output)
                }
                text.cursor = place
                apply(special, &output)
                return true
            }
        }
        guard !isAtStart || isLast else { return false }
        if isAtStart { take(spaceUpTo: place, &output) } else { write(text.bytes[text.cursor..<place], &output) }
        text.cursor = place
        return false
    }

    private enum Special {
        case call(CallOpening.Found)
        case thoughts(end: Int)
        case dropped(end: Int)
    }

    /// Matches a marker or a call at a place in content.
    private func special(at place: Int, _ isLast: Bool) -> Match<Special> {
        var isPartial = false
        switch opening.match(text, at: place, isFirst: isAtStart, isLast: isLast) {
        case .full(let found): return .full(.call(found))
        case .partial: isPartial = true
        case .no: break
        }
        if isAtStart || markers.isControl, !markers.open.isEmpty {
            switch text.match(markers.open, at: place, isLast: isLast) {
            case .full(let end): return .full(.thoughts(end: end))
            case .partial: isPartial = true
            case .no: break
            }
        }
        for (marker, isOnlyAtStart) in markers.dropped where isAtStart || !isOnlyAtStart {
            switch text.match(marker, at: place, isLast: isLast) {
            case .full(let end): if !isPartial { return .full(.dropped(end: end)) }
            case .partial: isPartial = true
            case .no: break
            }
        }
        return isPartial ? .partial : .no
    }

    private mutating func apply(_ special: Special, _ output: inout DeltaList) {
        switch special {
        case .call(let found): begin(found, &output)
        case .thoughts(let end):
            text.cursor = end
            state = .thoughts
            hasThoughts = false
            if contentStart == nil { space = [] }
        case .dropped(let end):
            text.cursor = end
            trimsContent = trimsContent || contentStart == nil
            // If markers are control tokens, one begins a separate message.
            if markers.isControl { isAtStart = true }
        }
    }

    private mutating func take(spaceUpTo place: Int, _ output: inout DeltaList) {
        space += text.bytes[text.cursor..<place]
    }

    /// Outputs content, except trailing white space.
    private mutating func write(_ bytes: some Collection<UInt8>, _ output: inout DeltaList) {
        guard bytes.contains(where: { !isSpace($0) }) else {
            space += bytes
            if contentStart != nil { isAfterThoughts = false }
            return
        }
        var start = text.position - space.count - virtual
        var bytes = space + bytes
        space = []
        if contentStart == nil {
            guard let first = bytes.firstIndex(where: { !isSpace($0) }) else {
                space = bytes
                return
            }
            if trimsContent {
                bytes.removeFirst(first)
                start += first
            }
            contentStart = max(0, start)
        }
        isAfterThoughts = false
        let end = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        space = Array(bytes[end...])
        let certain = bytes[..<end]
        if fence == nil {
            output.content(certain)
        } else {
            output.content(fence?.read(certain) ?? [])
        }
    }

    /// Outputs the text held back at the end of the answer.
    private mutating func flush(_ output: inout DeltaList) {
        if contentStart == nil, !space.isEmpty { contentStart = max(0, text.position - space.count - virtual) }
        let rest = fence.map { filter in
            var filter = filter
            return filter.read(space) + filter.finish()
        }
        output.content(rest ?? space)
        space = []
    }

    // MARK: Calls

    private mutating func bareCalls(_ reader: BareCalls, _ isLast: Bool, _ output: inout DeltaList) -> Bool {
        var reader = reader
        switch reader.read(text.rest, isLast: isLast) {
        case .partial:
            state = .bareCalls(reader)
            return false
        case .no:
            state = .content
            return true
        case .full(let calls):
            for call in calls {
                let name = String(decoding: call.name, as: UTF8.self)
                output.add(.call(name: name, id: call.id.map { String(decoding: $0, as: UTF8.self) }))
                let range = (text.cursor + call.arguments.lowerBound)..<(text.cursor + call.arguments.upperBound)
                var arguments = PendingText(bytes: Array(text.bytes[range]))
                var reader = JSONArguments(close: [], schema: tools[name] ?? ArgumentSchema())
                output.arguments(reader.read(&arguments))
                output.add(.callEnd(id: nil))
            }
            (space, isAtStart, trimsContent) = ([], false, true)
            text.cursor = text.bytes.count
            state = .content
            return false
        }
    }

    private mutating func begin(_ found: CallOpening.Found, _ output: inout DeltaList) {
        space = []
        isAtStart = false
        let name = String(decoding: found.name, as: UTF8.self)
        output.add(.call(name: name, id: found.id.map { String(decoding: $0, as: UTF8.self) }))
        text.cursor = found.end
        let syntax = opening.syntaxes[found.syntax]
        let reader: ArgumentReader
        if found.arguments == nil {
            reader = .none
            output.arguments("{}".utf8)
        } else {
            reader = markers.reader(syntax, opening.syntaxes, schema: tools[name] ?? ArgumentSchema())
        }
        state = .arguments(reader, found)
    }

    private mutating func arguments(
        _ reader: ArgumentReader, _ found: CallOpening.Found, _ isLast: Bool, _ output: inout DeltaList
    ) -> Bool {
        var reader = reader
        let (json, isComplete) = reader.read(&text, isLast: isLast)
        output.arguments(json)
        state = .arguments(reader, found)
        guard isComplete else { return false }
        if found.openObjects > 0 {
            state = .objectEnd(scanned: JSONTail(depth: found.openObjects), found)
        } else {
            output.add(.callEnd(id: nil))
            state = .afterCall(syntax: found.syntax, isInArray: found.isInArray)
        }
        return true
    }

    private mutating func objectEnd(
        _ tail: JSONTail, _ found: CallOpening.Found, _ isLast: Bool, _ output: inout DeltaList
    ) -> Bool {
        var tail = tail
        tail.read(&text)
        state = .objectEnd(scanned: tail, found)
        guard tail.isComplete || isLast else { return false }
        output.add(.callEnd(id: found.id == nil ? tail.id : nil))
        state = .afterCall(syntax: found.syntax, isInArray: found.isInArray)
        return true
    }

    private mutating func afterCall(
        _ index: Int, _ isInArray: Bool, _ isLast: Bool, _ output: inout DeltaList
    ) -> Bool {
        let syntax = opening.syntaxes[index]
        let place = text.afterSpace(text.cursor)
        guard place < text.bytes.count else { return false }
        switch opening.match(text, at: place, isFirst: false, after: (index, isInArray), isLast: isLast) {
        case .full(let found):
            begin(found, &output)
            return true
        case .partial: return false
        case .no: break
        }
        var closers = (syntax.eachClose + syntax.close + syntax.separator).compactMap(\.bytes)
        if isInArray { closers += [[UInt8(ascii: ",")], [UInt8(ascii: "]")]] }
        var isPartial = false
        for closer in closers {
            switch text.match(closer, at: place, isLast: isLast) {
            case .full(let end):
                text.cursor = end
                let hasEnded = closer == [UInt8(ascii: "]")]
                state = .afterCall(syntax: index, isInArray: isInArray && !hasEnded)
                return true
            case .partial: isPartial = true
            case .no: continue
            }
        }
        if isPartial { return false }
        // A marker that the end of the answer cuts off, of this call or of another.
        let openers = (syntax.open + syntax.each).compactMap(\.bytes) + syntax.body.texts.map { Array($0.utf8) }
        if isLast, (closers + openers).contains(where: { $0.starts(with: text.bytes[place...]) }) {
            text.cursor = text.bytes.count
            return false
        }
        state = .content
        trimsContent = true
        return true
    }
}

extension CallSyntax.Element {
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var bytes: [UInt8]? { text.map { Array($0.utf8) } }
}
