// The kernels of each tier that this processor has, against the portable tier.

import Compute

if KernelSet.available.count == 1 { print("only portable kernels: the processor has no dot product") }
for (index, kernels) in KernelSet.available.enumerated() where index > 0 {
    let before = (checks, failures)
    checkDequantization(kernels)
    checkFloatProducts(kernels)
    checkHalfProducts(kernels)
    checkBFloatProducts(kernels)
    checkIntegerProducts(kernels, like: index > 1 ? KernelSet.available[index - 1] : nil)
    checkAttention(kernels)
    checkRows(kernels)
    print("\(kernels): \(checks - before.0) checks, \(failures - before.1) failed")
}
if failures > 0 { fatalError("failed") }
