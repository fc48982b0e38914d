// A library of functions that tests find on a stack. It is compiled with frame pointers, without them, and without
// debug information (CMakeLists.txt); its tests load it.
#include "symbols/test_frames/frames.h"

namespace frames {

namespace {

inline __attribute__((always_inline)) int call(Callback callback, void* argument) {
  const int result = callback(argument);  // line: callback
  asm volatile("" ::: "memory");          // prevents a tail call, which leaves no frame
  return result + 1;
}

__attribute__((noinline, noclone)) int hidden(Callback callback, void* argument) {
  const int result = call(callback, argument);  // line: call
  return result + 1;
}

}  // namespace

template <class Number>
__attribute__((noinline, noclone)) Number descend(Number depth, Callback callback, void* argument) {
  const Number result =
      depth == 0 ? hidden(callback, argument) : descend(depth - 1, callback, argument);  // line: descend
  asm volatile("" ::: "memory");
  return result + 1;
}

}  // namespace frames

extern "C" __attribute__((visibility("default"))) int frames_descend(int depth, frames::Callback callback,
                                                                     void* argument) {
  const int result = frames::descend(depth, callback, argument);
  asm volatile("" ::: "memory");
  return result + 1;
}
