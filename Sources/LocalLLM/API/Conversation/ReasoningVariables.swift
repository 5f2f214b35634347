package import Template

extension TemplateObject {
    /// Sets the two variables by which templates switch reasoning on or off.
    package mutating func switchThoughts(on isOn: Bool) {
        for name in ["enable_thinking", "thinking"] { self[name] = .bool(isOn) }
    }

    /// `reasoning_effort` is passed to the template. It also switches reasoning on or off.
    package mutating func set(reasoningEffort effort: String) {
        self["reasoning_effort"] = .string(effort)
        switchThoughts(on: effort != "none")
    }
}
