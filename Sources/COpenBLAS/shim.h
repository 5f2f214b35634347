#include <cblas.h>
#include <dlfcn.h>
#include <stddef.h>

// The functions that are used. Programs are not linked with the library: it is loaded when an encoder is.
#define OPENBLAS_FUNCTIONS(F) F(cblas_sgemm) F(openblas_set_num_threads)

struct openblas {
#define F(name) __typeof__(name) *name;
  OPENBLAS_FUNCTIONS(F)
#undef F
};

// Returns the name of a function that the loaded library lacks, or NULL.
static inline const char *openblas_find(struct openblas *functions, void *library) {
#define F(name) \
  if ((functions->name = (__typeof__(name) *)dlsym(library, #name)) == NULL) return #name;
  OPENBLAS_FUNCTIONS(F)
#undef F
  return NULL;
}
