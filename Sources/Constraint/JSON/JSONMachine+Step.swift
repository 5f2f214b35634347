extension JSONMachine {
    /// Reads one byte. - Parameter offset: Its offset in the text; -1 if the text before it is unknown.
    /// - Returns: False if the byte is not allowed; `state` is then undefined.
    @inline(__always)
    func step(_ state: inout JSONState, _ byte: UInt8, at offset: Int) -> Bool {
        // Fast path: most bytes are content of strings.
        if state.mode == .string, state.text.sub == 0, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            let position = positions[Int(children[Int(state.child)].position)]
            guard byte >= 0x20, let text = position.text else { return false }
            return content(&state.text, byte, text, position, limit: text.longest, counts: text.counts)
        }
        return stepOther(&state, byte, at: offset)
    }

    @inline(never)
    private func stepOther(_ state: inout JSONState, _ byte: UInt8, at offset: Int) -> Bool {
        if state.takesSpace {
            state.takesSpace = false
            if byte == UInt8(ascii: " ") { return true }
        }
        if options.whitespace == .free, WhitespaceSlice.isWhitespace(byte) {
            switch state.mode {
            case .value, .objectStart, .objectNext, .colon, .arrayStart, .after, .done: return true
            case .number: return endNumber(&state, at: offset)
            default: break
            }
        }
        switch state.mode {
        case .value: return beginValue(&state, byte, at: offset)
        case .objectStart, .objectNext:
            if byte == UInt8(ascii: "\"") { return beginKey(&state) }
            return state.mode == .objectStart && byte == UInt8(ascii: "}") && close(&state, at: offset)
        case .key: return key(&state, byte)
        case .colon:
            guard byte == UInt8(ascii: ":") else { return false }
            (state.mode, state.takesSpace) = (.value, options.whitespace == .separators)
            return true
        case .arrayStart:
            if byte == UInt8(ascii: "]") { return close(&state, at: offset) }
            return beginItem(&state) && beginValue(&state, byte, at: offset)
        case .after: return afterValue(&state, byte, at: offset)
        case .string: return string(&state, byte, at: offset)
        case .number:
            if number(&state, byte) { return true }
            return endNumber(&state, at: offset) && stepOther(&state, byte, at: offset)
        case .literal: return literal(&state, byte, at: offset)
        case .done: return false
        }
    }

    /// Whether the text may end here.
    func isComplete(_ state: JSONState) -> Bool {
        if state.mode == .done { return true }
        guard state.mode == .number, state.frame == 0 else { return false }
        var state = state
        return endNumber(&state, at: -1) && state.mode == .done
    }

    // MARK: Values

    private func beginValue(_ state: inout JSONState, _ byte: UInt8, at offset: Int) -> Bool {
        let position = positions[Int(children[Int(state.child)].position)]
        if needsText { noteItemStart(&state, at: offset) }
        switch byte {
        case UInt8(ascii: "\""):
            guard position.types.contains(.string) else { return false }
            (state.mode, state.text) = (.string, TextPoint())
            return true
        case UInt8(ascii: "{"):
            guard position.types.contains(.object), let object = openObject(position) else { return false }
            push(&state, isArray: false, object)
            state.mode = .objectStart
            return true
        case UInt8(ascii: "["):
            guard position.types.contains(.array), let array = openArray(position) else { return false }
            push(&state, isArray: true, array)
            state.mode = .arrayStart
            return true
        case UInt8(ascii: "n"): return beginLiteral(&state, 0, position)
        case UInt8(ascii: "f"): return beginLiteral(&state, 1, position)
        case UInt8(ascii: "t"): return beginLiteral(&state, 2, position)
        default:
            guard byte == UInt8(ascii: "-") || byte &- 48 < 10, !position.types.isDisjoint(with: .number) else {
                return false
            }
            (state.mode, state.sub, state.number) = (.number, NumberSyntax.start.rawValue, NumberState())
            return number(&state, byte)
        }
    }

    private func push(_ state: inout JSONState, isArray: Bool, _ container: Int32) {
        state.frame = frame(Frame(parent: state.frame, child: state.child, isArray: isArray, state: container))
        state.child = -1
    }

    private static let literals: [StaticString] = ["null", "false", "true"]

    private func beginLiteral(_ state: inout JSONState, _ index: Int, _ position: Position) -> Bool {
        guard position.literals[index] != nil else { return false }
        (state.mode, state.sub) = (.literal, UInt8(index << 4 | 1))
        return true
    }

    private func literal(_ state: inout JSONState, _ byte: UInt8, at offset: Int) -> Bool {
        let (index, place) = (Int(state.sub >> 4), Int(state.sub & 15))
        let text = Self.literals[index]
        guard text.utf8Start[place] == byte else { return false }
        guard place + 1 == text.utf8CodeUnitCount else {
            state.sub += 1
            return true
        }
        guard let bits = positions[Int(children[Int(state.child)].position)].literals[index] else { return false }
        return endValue(&state, result(bits), at: offset + 1)
    }

    /// Ends a value. - Parameter end: Offset in the text after its last byte; negative if unknown.
    func endValue(_ state: inout JSONState, _ result: Int32, at end: Int) -> Bool {
        let frame = frames[Int(state.frame)]
        if frame.parent < 0 {
            state.mode = .done
            state.child = -1
            return true
        }
        let next =
            frame.isArray
            ? endItem(frame, state.child, result, &state, at: end) : endProperty(frame.state, state.child, result)
        guard let next else { return false }
        var frameAfter = frame
        (frameAfter.state, frameAfter.itemStart) = (next, -1)
        state.frame = self.frame(frameAfter)
        state.mode = .after
        state.child = -1
        (state.sub, state.text) = (0, TextPoint())
        state.number = NumberState()
        return true
    }

    private func afterValue(_ state: inout JSONState, _ byte: UInt8, at offset: Int) -> Bool {
        let frame = frames[Int(state.frame)]
        switch byte {
        case UInt8(ascii: ","):
            state.takesSpace = options.whitespace == .separators
            if frame.isArray {
                guard beginItem(&state) else { return false }
                state.mode = .value
                return true
            }
            guard takesAnotherProperty(frame.state) else { return false }
            state.mode = .objectNext
            return true
        case UInt8(ascii: "}"): return !frame.isArray && close(&state, at: offset)
        case UInt8(ascii: "]"): return frame.isArray && close(&state, at: offset)
        default: return false
        }
    }

    private func beginItem(_ state: inout JSONState) -> Bool {
        let child = itemChild(frames[Int(state.frame)].state)
        guard child >= 0 else { return false }
        state.child = child
        return true
    }

    private func close(_ state: inout JSONState, at offset: Int) -> Bool {
        let frame = frames[Int(state.frame)]
        let result = frame.isArray ? arrayResult(frame.state) : objectResult(frame.state)
        guard result >= 0 else { return false }
        state.frame = frame.parent
        state.child = frame.child
        return endValue(&state, result, at: offset < 0 ? -1 : offset + 1)
    }

    // MARK: Strings

    /// Reads a byte of string content outside of escapes.
    /// - Parameters:
    ///   - limit: Maximum characters of the string.
    ///   - counts: Whether characters are counted.
    @inline(__always)
    func content(
        _ point: inout TextPoint, _ byte: UInt8, _ text: TextContext, _ position: Position, limit: Int, counts: Bool
    ) -> Bool {
        if counts, byte & 0xc0 != 0x80 {
            point.count &+= 1
            if Int(point.count) > limit { return false }
        }
        point.state = next(text, point.state, byte, position)
        return point.state >= 0
    }

    /// Reads the closing quote, or a byte of an escape.
    private func string(_ state: inout JSONState, _ byte: UInt8, at offset: Int) -> Bool {
        let position = positions[Int(children[Int(state.child)].position)]
        guard let text = position.text else { return false }
        if state.text.sub == 0, byte == UInt8(ascii: "\"") {
            guard text.automaton.isBorder(state.text.state) else { return false }
            let level = text.level(Int(state.text.count))
            let result = textResult(text, state.text.state, level: level, position)
            return result >= 0 && endValue(&state, result, at: offset < 0 ? -1 : offset + 1)
        }
        return escape(&state.text, byte, text, position, limit: text.longest, counts: text.counts)
    }

    /// Reads a byte of an escape, backslash included.
    func escape(
        _ point: inout TextPoint, _ byte: UInt8, _ text: TextContext, _ position: Position, limit: Int, counts: Bool
    ) -> Bool {
        if point.sub == 0, !text.automaton.isBorder(point.state) || Int(point.count) >= limit { return false }
        let isStrict = !options.anySpelling
        if isStrict, !text.isFree, point.sub == 0 || (point.sub == 1 && byte == UInt8(ascii: "u")) {
            // Numeric escapes are allowed only if a character that must be escaped may come.
            let byCode = point.sub == 1
            let isTaken = StringSyntax.mustBeEscaped.contains {
                !(byCode && StringSyntax.hasShortEscape($0)) && next(text, point.state, $0, position) >= 0
            }
            guard isTaken else { return false }
        }
        return escape(&point, byte, free: text.isFree) {
            content(&$0, $1, text, position, limit: limit, counts: counts)
        }
    }

    /// - Parameter content: Reads a byte of the escaped character.
    func escape(
        _ point: inout TextPoint, _ byte: UInt8, free: Bool, content: (inout TextPoint, UInt8) -> Bool
    ) -> Bool {
        var escape = Escape(point)
        switch escape.step(byte, needed: !options.anySpelling, free: free) {
        case .refused: return false
        case .inside:
            (point.sub, point.code) = (escape.sub, escape.code)
            return true
        case .character(let character):
            (point.sub, point.code) = (0, 0)
            for byte in CharacterSet.encode(character) where !content(&point, byte) { return false }
            return true
        }
    }
}

/// The state of an escape in a string, byte by byte.
struct Escape {
    enum Outcome {
        case refused, inside
        case character(UInt32)
    }

    /// 0: none; 1: after the backslash; 5, 4, 3, 2: after `u`, with that many digits left less one; 6 and 7: the
    /// backslash and the `u` of a surrogate pair's second half are next; 8 to 11: its digits.
    var sub: UInt8
    var code: UInt16

    init() { (sub, code) = (0, 0) }

    init(_ point: TextPoint) { (sub, code) = (point.sub, point.code) }

    /// - Parameters:
    ///   - needed: Whether only characters that must be escaped may be, in the usual notation.
    ///   - free: Whether characters beyond ASCII may be escaped even then.
    mutating func step(_ byte: UInt8, needed: Bool, free: Bool) -> Outcome {
        switch sub {
        case 0:
            sub = 1
            return byte == UInt8(ascii: "\\") ? .inside : .refused
        case 1:
            if let plain = StringSyntax.escaped(byte) {
                return needed && byte == UInt8(ascii: "/") ? .refused : .character(UInt32(plain))
            }
            guard byte == UInt8(ascii: "u") else { return .refused }
            (sub, code) = (2, 0)
            return .inside
        case 2...4:
            guard let digit = StringSyntax.hexadecimal(byte) else { return .refused }
            code = code << 4 | UInt16(digit)
            // Only control characters are written this way, unless `free`.
            if needed, !free, code > 1 || (sub < 4 && code != 0) { return .refused }
            sub += 1
            return .inside
        case 5:
            guard let digit = StringSyntax.hexadecimal(byte) else { return .refused }
            code = code << 4 | UInt16(digit)
            if needed, !isEscapedThisWay(free) { return .refused }
            if (0xd800...0xdbff).contains(code) {
                sub = 6
                return .inside
            }
            return (0xdc00...0xdfff).contains(code) ? .refused : .character(UInt32(code))
        case 6:
            sub = 7
            return byte == UInt8(ascii: "\\") ? .inside : .refused
        case 7:
            // The first half's ten bits stay in `code`; the digits of the second half go to `sub` and `code`.
            sub = 8
            return byte == UInt8(ascii: "u") ? .inside : .refused
        case 8:
            sub = 9
            return byte | 32 == UInt8(ascii: "d") ? .inside : .refused
        case 9:
            guard let digit = StringSyntax.hexadecimal(byte), digit >= 12 else { return .refused }
            // From here on, `code` holds the first half's ten bits and the lowest two of this digit.
            code = (code & 0x3ff) << 2 | UInt16(digit & 3)
            sub = 10
            return .inside
        case 10:
            guard let digit = StringSyntax.hexadecimal(byte) else { return .refused }
            code = code << 4 | UInt16(digit)
            sub = 11
            return .inside
        default:
            guard let digit = StringSyntax.hexadecimal(byte) else { return .refused }
            return .character(0x10000 + (UInt32(code) << 4 | UInt32(digit)))
        }
    }

    private func isEscapedThisWay(_ free: Bool) -> Bool {
        if code < 0x20 { return ![8, 9, 10, 12, 13].contains(code) }
        return free && code >= 0x7f
    }
}
