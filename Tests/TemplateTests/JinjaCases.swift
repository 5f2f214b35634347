import Foundation
import Template

/// Small templates with what Python made of them; see `madeBy` in the file.
struct JinjaCases: Decodable {
    struct Case: Decodable {
        let template: String
        let rendered: String?
        /// The exception that Python raises.
        let error: String?
    }

    let cases: [Case]

    static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "jinja-cases.json")
}

/// What rendered each template of the shared fixtures, on each conversation.
struct TemplateFixtures: Decodable {
    struct Outcome: Decodable {
        let rendered: String?
        let error: String?
    }

    let templates: [String: [String: Outcome]]
}
