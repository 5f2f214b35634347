// Block structs of the quantized formats.
