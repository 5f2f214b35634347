import Foundation
public import FoundationModels

// Types as apps for FoundationModels declare them; `GenerableTests` uses them.

@Generable(description: "A trip")
struct Itinerary: Equatable {
    @Guide(description: "An exciting name for the trip.")
    let title: String
    @Guide(.anyOf(["Paris", "Rome"]))
    let destinationName: String
    let description: String
    @Guide(description: "A list of day-by-day plans.")
    @Guide(.count(3))
    let days: [DayPlan]
    var rating: Double?
}

@Generable
struct DayPlan: Equatable {
    let title: String
    @Guide(.minimumCount(1), .maximumCount(4))
    let activities: [Activity]
}

@Generable
struct Activity: Equatable {
    let type: Kind
    @Guide(.range(1...24)) let hours: Int
    var note: String? = nil

    @Generable
    enum Kind: String, CaseIterable {
        case sightseeing, foodAndDining
        case `repeat`
    }
}

/// Contains itself, by way of lists.
@Generable
struct Remark: Equatable {
    let text: String
    let replies: [Remark]
}

@Generable
enum Shape: Equatable {
    case point
    case circle(radius: Double)
    case named(String, sides: Int?)
}

@Generable
public struct Page<Item: Generable & Equatable>: Equatable {
    public var items: [Item]
    public let next: Int?
    static var limit: Int { 10 }
    var isLast: Bool { next == nil }
}

@Generable
struct Ticket {
    @Guide(description: "Its number", /[A-Z]{2}-[0-9]{3}/)
    var number: String
    @Guide(.pattern(/[a-z]+/)) var word: String
    @Guide(.minimum(0.5), .maximum(2)) var factor: Float
    @Guide(.element(.range(0...9))) var digits: [Int]
    var a, b: Bool
}

@MainActor @Generable
struct Empty {}

/// Its ID is that of the content.
@Generable
struct Person: Equatable {
    var id: GenerationID
    @Guide(
        description: """
            Only the first name;
              nothing else.
            """)
    var name: String
}

/// Has an ID of its own, and texts for its cases.
@Generable(description: "An " + "order")
struct Order: Identifiable {
    let id: Int
    let status: Status
    let created = Date()

    @Generable
    enum Status: String {
        case open
        case shipped = "on its way"
    }
}

/// A tree, by way of an enumeration.
@Generable
indirect enum Expression: Equatable {
    case number(Double)
    case sum(Expression, Expression)
    case negated(of: Expression)
}

struct WeatherTool: Tool {
    let name = "getWeather"
    let description = "The weather of a city"

    @Generable
    struct Arguments {
        @Guide(description: "The city")
        var city: String
    }

    func call(arguments: Arguments) async throws -> String { "It is sunny in \(arguments.city)." }
}
