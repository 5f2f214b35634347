import GGUF

/// `ssm.*`: the sizes that a file declares for its recurrent layers.
struct StateSpaceShape {
    /// Number of taps of the convolution.
    let taps: Int
    /// Inner width of the mixer.
    let inner: Int
    /// State values per inner value; in a delta net: the width of a key.
    let states: Int
    /// Rank of the step size, or the number of heads if each has one step size.
    let rank: Int
    /// Groups of heads that share B and C, or queries and keys.
    let groups: Int

    /// - Parameter hasHeads: Whether `ssm.time_step_rank` is a number of heads that divides `inner`.
    init(_ hyper: Hyperparameters, hasHeads: Bool, hasGroups: Bool = true) throws(ModelFileError) {
        taps = try hyper.count("ssm.conv_kernel")
        inner = try hyper.count("ssm.inner_size")
        states = try hyper.count("ssm.state_size")
        rank = try hyper.count("ssm.time_step_rank")
        groups = hasHeads && hasGroups ? try hyper.count("ssm.group_count") : 1
        guard hasHeads else { return }
        guard inner % rank == 0 else {
            throw hyper.invalid("ssm.time_step_rank", "a divisor of the inner size \(inner)", found: rank)
        }
        guard rank % groups == 0 else {
            throw hyper.invalid("ssm.group_count", "a divisor of the \(rank) heads", found: groups)
        }
    }

    var headWidth: Int { inner / rank }
}
