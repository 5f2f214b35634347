import Dialects
import Foundation
import Template
import TestSupport
import Testing

/// Two functions, one with a property of each type.
let weatherTools: TemplateValue = {
    let text = """
        [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}, "hourly": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}}, "at": {"type": ["string", "null"]},
        "place": {"type": "object", "properties": {"x": {"type": "number"}}}}}}},
        {"type": "function", "function": {"name": "weather_now", "parameters": {"type": "object", "properties": {}}}}]
        """
    // The text is constant.
    return (try? TemplateValue(json: Data(text.utf8))) ?? .undefined
}()

func dialect(_ source: String) throws -> Dialect { Dialect(template: try ChatTemplate(source)) }

func message(_ pieces: [String], _ parser: AnswerParser) -> AnswerMessage {
    var parser = parser
    var message = AnswerMessage()
    for piece in pieces { for delta in parser.read(piece) { message.add(delta) } }
    for delta in parser.finish() { message.add(delta) }
    return message
}

/// The message of a text, which must be the same whole, a character at a time, and cut in two at every place.
func read(_ text: String, _ parser: AnswerParser, _ location: SourceLocation = #_sourceLocation) -> AnswerMessage {
    let whole = message([text], parser)
    let scalars = text.unicodeScalars.map { String($0) }
    #expect(message(scalars, parser) == whole, "a character at a time", sourceLocation: location)
    for place in scalars.indices {
        let halves = [scalars[..<place].joined(), scalars[place...].joined()]
        guard message(halves, parser) != whole else { continue }
        Issue.record("cut at \(place), \(text.debugDescription) means something else", sourceLocation: location)
        break
    }
    return whole
}

/// Whether two texts are the same JSON.
func isSameJSON(_ left: String, _ right: String) -> Bool {
    guard let left = try? TemplateValue(json: Data(left.utf8)), let right = try? TemplateValue(json: Data(right.utf8))
    else { return false }
    return left == right
}
