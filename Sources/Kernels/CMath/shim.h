// `expf`, `tanhf`, …: a module of their own, since the C library's module has another name on each system, and does not
// exist where the kernels are tested for other processors.
#include <math.h>
