/* A program that loads no libraries: there is nothing to put one before. */
#include <stdlib.h>

int main(void) {
  void* memory = malloc(70003);
  __asm__ volatile("" ::"r"(memory) : "memory");
  free(memory);
  return 7;
}
