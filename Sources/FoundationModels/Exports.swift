// Apple's Foundation has `@Observable`, so apps use it with no import of their own beside this module's.
@_exported public import Observation
