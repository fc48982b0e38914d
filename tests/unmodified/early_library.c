// The library of early: what its initializer allocates stays.
#include <stdlib.h>

void* early_memory;
__attribute__((constructor)) static void allocate(void) { early_memory = malloc(50 << 20); }
