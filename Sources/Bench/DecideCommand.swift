import CommandLineParsing
import Constraint
import Foundation
import JSON
import LocalLLM

/// Measures how often a model's decisions are right, and how well their probabilities say so.
struct DecideCommand: Command {
    static let name = "decide"
    static let summary = "measure decisions on labelled questions: accuracy, calibration, speed"
    static let synopsis = "-m FILE QUESTIONS [--rotations N] [--chat]"
    static let details = """
        QUESTIONS has a JSON object in each line: {"input": text, "type": "predicate", "choice" or "score", "instructions":
        the statement or question, "choices" or "levels": list of texts, "answer": true, false or one of the texts}.

        Prints for each type the number of questions, the accuracy, the mean confidence in the answer (the probability of
        the chosen option), the expected calibration error over ten bins of that probability (Naeini et al. 2015), and the
        Brier score (mean squared distance from the truth, over all options). Questions about the same input are asked
        together. --chat also asks each by a chat whose answer has to match a schema, greedily.
        """
    static let options: [Option] = [
        .model,
        Option("--rotations", value: "N", help: "orders of the options of a choice to average (default: 1)"),
        Option("--chat", help: "ask by chat with a schema as well"),
    ]
    static let modelOptions = ModelOption.loading
    static let takesOperands = true

    private let model: String
    private let file: String
    private let rotations: Int
    private let chats: Bool
    private let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        guard arguments.operands.count == 1 else { throw UsageError("expected one file of questions") }
        file = arguments.operands[0]
        rotations = try arguments.int("--rotations", in: 1...255) ?? 1
        chats = arguments.has("--chat")
        configuration = try arguments.configuration(Self.modelOptions)
    }

    private struct Labelled: Decodable {
        enum Kind: String, Decodable, CaseIterable { case predicate, choice, score }

        let input: String
        let type: Kind
        let instructions: String
        let choices: [String]?
        let levels: [String]?
        let answer: JSON

        /// The texts of the options, as a chat answers.
        var options: [String] { type == .predicate ? ["yes", "no"] : choices ?? levels ?? [] }
        var question: DecisionQuestion {
            let options = options.map { DecisionQuestion.Option($0) }
            return switch type {
            case .predicate: .predicate(instructions)
            case .choice: .choice(instructions, of: options)
            case .score: .score(instructions, levels: options)
            }
        }
        /// The index of the right option.
        var right: Int? { answer.bool.map { $0 ? 0 : 1 } ?? options.firstIndex { $0 == answer.string } }
    }

    func run() async throws -> Bool {
        var groups: [(input: String, questions: [Labelled])] = []
        for (index, line) in try String(contentsOfFile: file, encoding: .utf8).split(whereSeparator: \.isNewline)
            .enumerated()
        {
            let question: Labelled
            do { question = try JSONLines.decode(from: Data(line.utf8)) } catch {
                throw UsageError("\(file):\(index + 1): \(JSONLines.message(for: error))")
            }
            guard question.options.count > 1, question.right != nil else {
                throw UsageError("\(file):\(index + 1): 'answer': expected one of at least two options")
            }
            if groups.last?.input == question.input {
                groups[groups.count - 1].questions.append(question)
            } else {
                groups.append((question.input, [question]))
            }
        }
        let model = try await LocalModel.load(model, configuration)
        var options = DecisionOptions()
        options.rotations = rotations
        var scores: [Labelled.Kind: Calibration] = [:]
        let began = ContinuousClock.now
        for group in groups {
            let decisions = try await model.decide(
                group.questions.map(\.question), about: group.input, options: options)
            for (question, answer) in zip(group.questions, decisions.answers) {
                scores[question.type, default: .init()].add(answer.probabilities, right: question.right ?? 0)
            }
        }
        let count = groups.reduce(0) { $0 + $1.questions.count }
        let rate = Double(count) / ((.now - began) / .seconds(1))
        print("type        questions  accuracy  confidence  calibration error  Brier score")
        for kind in Labelled.Kind.allCases {
            guard let score = scores[kind] else { continue }
            print(
                kind.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0)
                    + String(
                        format: "%11d%10.3f%12.3f%19.3f%13.3f", score.count, score.accuracy, score.confidence,
                        score.calibrationError, score.brier))
        }
        print(String(format: "%.1f questions/s", rate))
        if chats { try await chat(groups.flatMap(\.questions), model) }
        return true
    }

    /// Asks the same by chats.
    private func chat(_ questions: [Labelled], _ model: LocalModel) async throws {
        var right: [Labelled.Kind: (right: Int, count: Int)] = [:]
        let began = ContinuousClock.now
        for question in questions {
            let names = question.options.map { JSON.string($0) }
            let schema = JSON.object([
                "type": .string("object"), "required": .array([.string("answer")]),
                "properties": .object(["answer": .object(["enum": .array(names)])]),
            ])
            let ask =
                question.type == .predicate
                ? "Is this true? \(question.instructions)" : question.instructions
            var request = ConversationRequest(
                .messages([
                    .user("\(question.input)\n\n\(ask)\nAnswer with JSON: {\"answer\": one of \(JSON.array(names))}")
                ]))
            request.rendering.variables.switchThoughts(on: false)
            request.format = ContentFormat(
                .jsonSchema(String(decoding: schema.bytes, as: UTF8.self)), name: "schema")
            request.sampling.temperature = 0
            var text = ""
            for stream in try await model.begin(request, guardrail: nil).streams {
                for try await delta in stream { text += delta.content }
            }
            let answer = try? JSON(parsing: [UInt8](text.utf8), .init(depth: 8))["answer"]?.string
            let isRight = answer == question.options[question.right ?? 0]
            right[question.type, default: (0, 0)].count += 1
            if isRight { right[question.type]?.right += 1 }
        }
        let rate = Double(questions.count) / ((.now - began) / .seconds(1))
        let parts = Labelled.Kind.allCases.compactMap { kind in
            right[kind].map { String(format: "\(kind.rawValue) %.3f", Double($0.right) / Double($0.count)) }
        }
        print(
            String(format: "by chat with a schema: accuracy %@, %.1f questions/s", parts.joined(separator: ", "), rate))
    }
}

extension DecisionAnswer {
    fileprivate var probabilities: [Double] {
        switch self {
        case .predicate(let probability): [probability, 1 - probability]
        case .choice(_, let probabilities), .score(_, let probabilities): probabilities
        case .refusal: []
        }
    }
}

/// How well probabilities tell what is right.
struct Calibration {
    private var bins = Array(repeating: (count: 0, right: 0, probability: 0.0), count: 10)
    private var squares = 0.0

    /// - Parameter probabilities: Of the options, at least two.
    mutating func add(_ probabilities: [Double], right: Int) {
        guard let most = probabilities.max(), let chosen = probabilities.firstIndex(of: most) else { return }
        let bin = min(9, max(0, Int(most * 10)))
        bins[bin].count += 1
        bins[bin].right += chosen == right ? 1 : 0
        bins[bin].probability += most
        for (index, probability) in probabilities.enumerated() {
            let difference = probability - (index == right ? 1 : 0)
            squares += difference * difference
        }
    }

    var count: Int { bins.reduce(0) { $0 + $1.count } }
    var accuracy: Double { Double(bins.reduce(0) { $0 + $1.right }) / Double(count) }
    /// Mean probability of the chosen option.
    var confidence: Double { bins.reduce(0) { $0 + $1.probability } / Double(count) }
    /// Mean distance of accuracy and confidence in a bin, weighted by its questions.
    var calibrationError: Double { bins.reduce(0) { $0 + abs(Double($1.right) - $1.probability) } / Double(count) }
    /// From 0 to 2.
    var brier: Double { squares / Double(count) }
}
