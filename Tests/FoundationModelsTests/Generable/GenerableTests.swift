import Foundation
import Testing

@testable import FoundationModels
@testable import LocalLLM

@Suite struct GenerableTests {
    private let plan = Itinerary(
        title: "Go \"there\"", destinationName: "Rome", description: "é\n",
        days: [DayPlan(title: "One", activities: [Activity(type: .repeat, hours: 3)])], rating: 4.5)

    @Test func `a value is its JSON, properties in order, and comes back from it`() throws {
        let json = plan.generatedContent.jsonString
        #expect(
            json
                == #"{"title":"Go \"there\"","destinationName":"Rome","description":"é\n","days":[{"title":"One","activities":[{"type":"repeat","hours":3}]}],"rating":4.5}"#
        )
        #expect(try Itinerary(GeneratedContent(json: json)) == plan)
    }

    @Test func `a schema lists properties in order, and named types once`() throws {
        #expect(
            try Itinerary.generationSchema.jsonSchema
                == ##"{"title":"Itinerary","description":"A trip","type":"object","properties":{"title":{"description":"An exciting name for the trip.","type":"string"},"destinationName":{"type":"string","enum":["Paris","Rome"]},"description":{"type":"string"},"days":{"description":"A list of day-by-day plans.","type":"array","items":{"$ref":"#/$defs/DayPlan"},"minItems":3,"maxItems":3},"rating":{"type":"number"}},"required":["title","destinationName","description","days"],"additionalProperties":false,"$defs":{"DayPlan":{"type":"object","properties":{"title":{"type":"string"},"activities":{"type":"array","items":{"$ref":"#/$defs/Activity"},"minItems":1,"maxItems":4}},"required":["title","activities"],"additionalProperties":false},"Activity":{"type":"object","properties":{"type":{"$ref":"#/$defs/Kind"},"hours":{"type":"integer","minimum":1,"maximum":24},"note":{"type":"string"}},"required":["type","hours"],"additionalProperties":false},"Kind":{"type":"string","enum":["sightseeing","foodAndDining","repeat"]}}}"##
        )
    }

    @Test func `a type that contains itself refers to itself`() throws {
        let schema = try Remark.generationSchema.jsonSchema
        #expect(schema.contains(##""items":{"$ref":"#"}"##))
        let nested = Remark(text: "a", replies: [Remark(text: "b", replies: [])])
        #expect(try Remark(nested.generatedContent) == nested)
    }

    @Test(arguments: [Shape.point, .circle(radius: 1.5), .named("x", sides: nil), .named("y", sides: 4)])
    func `a case with values is an object with the case's name`(shape: Shape) throws {
        #expect(try Shape(GeneratedContent(json: shape.generatedContent.jsonString)) == shape)
    }

    @Test func `an enumeration with values is one of several objects`() throws {
        #expect(Shape.circle(radius: 2).generatedContent.jsonString == #"{"circle":{"radius":2}}"#)
        #expect(
            try Shape.generationSchema.jsonSchema.hasPrefix(
                #"{"title":"Shape","anyOf":[{"type":"object","properties":{"point":{"type":"object","properties":{},"required":[],"additionalProperties":false}},"required":["point"],"additionalProperties":false},"#
            ))
    }

    @Test func `generic and public types generate`() throws {
        let page = Page(items: ["a", "b"], next: nil)
        #expect(page.generatedContent.jsonString == #"{"items":["a","b"]}"#)
        #expect(try Page<String>(GeneratedContent(json: #"{"items":["a","b"]}"#)) == page)
    }

    @Test func `regular expressions and other guides stand in the schema`() throws {
        let schema = try Ticket.generationSchema.jsonSchema
        #expect(
            schema.contains(
                #""number":{"description":"Its number","type":"string","pattern":"^(?:[A-Z]{2}\\-[0-9]{3})$"}"#))
        #expect(schema.contains(#""word":{"type":"string","pattern":"^(?:[a-z]+)$"}"#))
        #expect(schema.contains(#""factor":{"type":"number","minimum":0.5,"maximum":2}"#))
        #expect(schema.contains(#""digits":{"type":"array","items":{"type":"integer","minimum":0,"maximum":9}}"#))
        #expect(schema.contains(#""required":["number","word","factor","digits","a","b"]"#))
    }

    @Test func `the beginning of a value is shown, growing, with the same IDs`() throws {
        let json = plan.generatedContent.jsonString
        let id = GenerationID()
        var (titles, activityIDs): ([String], Set<GenerationID>) = ([], [])
        for length in 0...json.utf8.count {
            guard let text = String(json.utf8.prefix(length)) else { continue }
            let content = try GeneratedContent(json: text, id: id)
            #expect(content.isComplete == (length == json.utf8.count))
            guard content.kind != .null else { continue }
            let partial = try Itinerary.PartiallyGenerated(content)
            #expect(partial.id == id)
            if let title = partial.title, titles.last != title { titles.append(title) }
            if let days = partial.days { #expect(days.count <= 1) }
            if let activity = partial.days?.first?.activities?.first { activityIDs.insert(activity.id) }
            #expect(partial.rating == nil || partial.rating == 4.5)
        }
        #expect(titles.count == plan.title.count + 1 && titles.last == plan.title)
        #expect(activityIDs.count == 1)
    }

    @Test(arguments: [
        (#"{"a": "b\"#, #"{"a": "b"}"#), (#"{"a": "\ud83d"#, #"{"a": ""}"#), (#"{"a""#, "{}"), (#"{"a": 1"#, "{}"),
        (#"{"a": 1, "#, #"{"a": 1}"#), (#"[1, tru"#, "[1]"), (#"[true"#, "[true]"), ("", "null"), (#""ab"#, #""ab""#),
        (#"[{"x": [1, 2"#, #"[{"x": [1]}]"#), ("12", "12"),
        ("-", "null"), ("1.", "null"), (#"{"a": "\ud83d\ude0"#, #"{"a": ""}"#), (#"{"a": {"b": tru"#, #"{"a": {}}"#),
        (#"{"a": "\ud83d\ude00"#, #"{"a": "😀"}"#), (#"[[],"#, "[[]]"), (" \n", "null"),
    ])
    func `the beginning of a text is completed to what is certain`(beginning: String, completed: String) throws {
        #expect(try GeneratedContent(json: beginning) == GeneratedContent(json: completed))
    }

    @Test(arguments: [
        "}", "[1}", "{1}", "nope", #"{"a" 1}"#, "[,", "[1,]", "{,", #"{"a": 1,}"#, "1 2", "01", "+1", "1e999",
        "[1e999]",
        #""\x""#, #""\ud83d""#, #""\ude00""#, "\"\n\"", "[1 2]", "tRue", String(repeating: "[", count: 100_000),
        String(repeating: #"{"a":"#, count: 100_000),
    ])
    func `what begins no JSON is refused`(text: String) {
        #expect(throws: GeneratedContent.ParsingError.self) { try GeneratedContent(json: text) }
    }

    @Test func `numbers that a type does not hold are refused`() throws {
        for text in ["1.5", "1e300", "9223372036854775808"] {
            #expect(throws: GeneratedContent.ParsingError.self) { try Int(GeneratedContent(json: text)) }
        }
        #expect(try Int(GeneratedContent(json: "-9007199254740991")) == -9_007_199_254_740_991)
        #expect(try Decimal(GeneratedContent(json: "0.1")) == Decimal(string: "0.1"))
        #expect(throws: GeneratedContent.ParsingError.self) { try Decimal(GeneratedContent(json: "1e300")) }
        for number in [Double.infinity, -.infinity, .nan] {
            let content = GeneratedContent(kind: .number(number))
            #expect(content.jsonString == "null")
            #expect(throws: GeneratedContent.ParsingError.self) { try Decimal(content) }
            #expect(throws: GeneratedContent.ParsingError.self) { try Int(content) }
        }
    }

    @Test func `an ID of a value is not generated, and others are`() throws {
        #expect(try !Person.generationSchema.jsonSchema.contains("id"))
        let people = try [Person.PartiallyGenerated](GeneratedContent(json: #"[{"name": "A"}, {"name": "B"}]"#))
        #expect(Set(people.map(\.id)).count == 2 && people.map(\.name) == ["A", "B"])
        let id = GenerationID()
        #expect(try Person(GeneratedContent(json: #"{"name": "A"}"#, id: id)).id == id)
        let order = try Order.PartiallyGenerated(GeneratedContent(json: #"{"id": 7, "status": "on its w"#))
        #expect(order.id == 7 && order.status == nil)
        #expect(try Order(GeneratedContent(json: #"{"id": 7, "status": "on its way"}"#)).status == .shipped)
        #expect(Order.Status.shipped.generatedContent.jsonString == #""on its way""#)
        #expect(try Order.generationSchema.jsonSchema.contains(#""enum":["open","on its way"]"#))
    }

    @Test func `guides of one kind all hold, and infinite bounds none`() throws {
        let schema = GenerationSchema(
            type: Person.self,
            properties: [
                .init(name: "a", type: Int.self, guides: [.range(1...10), .minimum(3), .maximum(20)]),
                .init(name: "b", type: Double.self, guides: [.minimum(-.infinity), .maximum(2)]),
                .init(name: "c", type: String.self, guides: [.anyOf(["x", "y"]), .anyOf(["y", "z"])]),
                .init(name: "d", type: String.self, guides: [.pattern(/a+/), .pattern(/.{3}/)]),
                .init(name: "e", type: [Int].self, guides: [.count(1...5), .maximumCount(3), .element(.minimum(0))]),
            ])
        let text = try schema.jsonSchema
        #expect(text.contains(#""a":{"type":"integer","minimum":3,"maximum":10}"#))
        #expect(text.contains(#""b":{"type":"number","maximum":2}"#))
        #expect(text.contains(#""c":{"type":"string","enum":["y"]}"#))
        #expect(text.contains(#""d":{"type":"string","pattern":"^(?:a+)$","allOf":[{"pattern":"^(?:.{3})$"}]}"#))
        #expect(
            text.contains(#""e":{"type":"array","items":{"type":"integer","minimum":0},"minItems":1,"maxItems":3}"#))
    }

    @Test func `a value of another type is refused with what was found`() throws {
        let error = #expect(throws: GeneratedContent.ParsingError.self) {
            try Activity(GeneratedContent(json: #"{"type": "flying", "hours": 2}"#))
        }
        #expect(
            "\(error.map { "\($0)" } ?? "")".contains(
                "expected one of sightseeing, foodAndDining, repeat, found \"flying\""))
        #expect(throws: GeneratedContent.ParsingError.self) { try Int(GeneratedContent(json: "1.5")) }
    }

    @Test func `schemas put together at run time name what is wrong`() throws {
        let menu = DynamicGenerationSchema(
            name: "Menu",
            properties: [
                .init(name: "soup", schema: .init(name: "Soup", anyOf: ["tomato", "leek"])),
                .init(name: "next", schema: .init(referenceTo: "Menu"), isOptional: true),
                .init(
                    name: "days",
                    schema: .init(arrayOf: .init(type: Int.self, guides: [.range(1...7)]), maximumElements: 2)),
            ])
        #expect(
            try GenerationSchema(root: menu, dependencies: []).jsonSchema
                == ##"{"title":"Menu","type":"object","properties":{"soup":{"type":"string","enum":["tomato","leek"]},"next":{"$ref":"#"},"days":{"type":"array","items":{"type":"integer","minimum":1,"maximum":7},"maxItems":2}},"required":["soup","days"],"additionalProperties":false}"##
        )
        #expect(throws: GenerationSchema.SchemaError.self) {
            try GenerationSchema(
                root: .init(name: "A", properties: [.init(name: "x", schema: .init(referenceTo: "B"))]),
                dependencies: [])
        }
        #expect(throws: GenerationSchema.SchemaError.self) {
            try GenerationSchema(root: menu, dependencies: [menu])
        }
        #expect(throws: GenerationSchema.SchemaError.self) {
            try GenerationSchema(root: .init(name: "E", anyOf: [String]()), dependencies: [])
        }
    }

    @Test func `a schema survives encoding with its order`() throws {
        let schema = Itinerary.generationSchema
        let decoded = try JSONDecoder().decode(GenerationSchema.self, from: JSONEncoder().encode(schema))
        #expect(try decoded.jsonSchema == schema.jsonSchema)
    }

    @Test func `a schema of Apple's has its properties in the order of x-order`() throws {
        let apple = #"""
            {"$defs": {"B": {"type": "object", "title": "B", "properties": {"y": {"type": "string"}, "x": {"type": "null"}},
            "required": ["x", "y"], "x-order": ["x", "y"], "additionalProperties": false}}, "type": "object", "title": "A",
            "properties": {"b": {"$ref": "#/$defs/B"}, "new": {"type": "null"}, "a": {"type": "integer"}},
            "required": ["a"], "x-order": ["a", "b", "gone"], "additionalProperties": false}
            """#
        for schema in [
            try GenerationSchema(jsonSchema: apple),
            try JSONDecoder().decode(
                GenerationSchema.self, from: Data(apple.replacing(#", "gone""#, with: "").utf8)),
        ] {
            let text = try schema.jsonSchema
            let properties = ##""properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/B"},"new":{"type":"null"}}"##
            #expect(text.contains(properties))
            #expect(text.contains(#""properties":{"x":{"type":"null"},"y":{"type":"string"}}"#))
            #expect(!text.contains("x-order") && text.contains(#""title":"A""#))
        }
    }

    @Test func `a generable value in a prompt is JSON`() {
        let prompt = Prompt {
            "Like this:"; Activity(type: .sightseeing, hours: 2)
        }
        #expect(prompt.promptRepresentation.parts.last == .text(#"{"type":"sightseeing","hours":2}"#))
    }

    @Test func `a tool's parameters come from its arguments`() throws {
        #expect(
            WeatherTool().parameters.debugDescription.contains(#""city":{"description":"The city","type":"string"}"#))
        #expect(WeatherTool().includesSchemaInInstructions)
    }
}
