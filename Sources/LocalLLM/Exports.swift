// Apps import LocalLLM alone: it exports the modules below it whose types its interface uses.
@_exported public import Compute
@_exported public import Engine
@_exported public import GGUF
@_exported public import Networks
