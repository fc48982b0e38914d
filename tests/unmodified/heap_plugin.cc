// A library that allocates while it is loaded and returns it when it goes.
#include <cstdlib>

namespace {

struct Held {
  void* memory = std::malloc(70'051);
  Held() { asm volatile("" ::"r"(memory) : "memory"); }
  ~Held() { std::free(memory); }
} held;

}  // namespace
