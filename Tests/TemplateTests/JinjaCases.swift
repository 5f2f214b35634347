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

    /// `../shared/fixtures/templates` beside the package, which not everyone has.
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "shared/fixtures/templates")

    static let areHere = FileManager.default.fileExists(atPath: folder.appending(path: "renders.json").path)
}
