struct Constraint {}
extension LocalModel { func constraint(for schema: GenerationSchema) throws -> Constraint { Constraint() } }
