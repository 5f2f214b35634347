// The reference for every kernel.
