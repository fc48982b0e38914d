// The Python functions of a process that already runs, read from outside.
//
// Use it while the process is stopped, or at least the thread: all that is read then is consistent. What is read is
// untrusted nevertheless. Nothing of the process is called or changed. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "python_code/frames.h"
#include "sample/address_space.h"
#include "sample/python_functions.h"

namespace kymo::sample {

class PythonProcess {
 public:
  // Looks for Python among the files that the process has loaded.
  PythonProcess(pid_t pid, AddressSpace& code);

  // The version of a Python whose functions cannot be read. Empty: they can, or there is no Python.
  const std::string& unknown_version() const { return unknown_version_; }

  // Its functions can be read.
  bool has_python() const { return python_.minor != 0; }

  // What a thread runs, with its code in `functions`. `pointer` is its pthread_t; 0: not known. Nothing: no Python.
  std::optional<PythonStack> read(pid_t tid, uintptr_t pointer, PythonFunctions& functions);

 private:
  static bool load(void* self, uintptr_t from, uint64_t* into);
  const std::vector<std::byte>* page(uintptr_t at);
  std::vector<std::byte> bytes(uintptr_t at, size_t count);
  bool add_code(PythonStack::Frame& frame, PythonFunctions& functions);

  pid_t pid_;
  kymo_python python_{};
  uint64_t interpreter_begin_ = 0, interpreter_end_ = 0;  // see PythonStack
  std::string unknown_version_;
  std::unordered_map<uintptr_t, std::vector<std::byte>> pages_;  // empty: it cannot be read
};

}  // namespace kymo::sample
