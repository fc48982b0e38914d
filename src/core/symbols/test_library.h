// For the tests: a library that is loaded while it is needed.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "symbols/capture.h"
#include "symbols/test_frames/frames.h"

namespace kymo::symbols {

class TestLibrary {
 public:
  explicit TestLibrary(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    descend = reinterpret_cast<decltype(&frames_descend)>(dlsym(handle_, "frames_descend"));
  }
  ~TestLibrary() { dlclose(handle_); }
  TestLibrary(const TestLibrary&) = delete;
  TestLibrary& operator=(const TestLibrary&) = delete;

  decltype(&frames_descend) descend = nullptr;

 private:
  void* handle_;
};

inline int capture_into_vector(void* argument) {
  auto& into = *static_cast<std::vector<uintptr_t>*>(argument);
  into.resize(capture(into, 1, Method::UnwindTables));
  return 0;
}

// The stack below the function that the library calls back.
inline std::vector<uintptr_t> stack_in(const TestLibrary& library, int depth) {
  std::vector<uintptr_t> addresses(64);
  library.descend(depth, capture_into_vector, &addresses);
  return addresses;
}

}  // namespace kymo::symbols
