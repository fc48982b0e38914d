// The Python functions of a process, from the bytes that its threads have sent (preload/packets.h) to names and lines.
//
// A stack node has an address. So each place in a Python function, which is a line, gets a number in a range where no
// code can be. All bytes are untrusted. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace kymo::sample {

// What a thread runs, innermost first, with marks: see python_code/frames.h.
struct PythonStack {
  uint64_t interpreter_begin = 0, interpreter_end = 0;  // the native function that runs Python functions
  bool is_cut = false;                                  // there are more outside
  struct Frame {
    uint64_t code = 0;  // identity; 0: a mark
    uint64_t at = 0;
  };
  std::vector<Frame> frames;
};

class PythonFunctions {
 public:
  struct Place {
    std::string function, file;
    uint32_t line = 0;
  };

  // The content of the records. Damaged ones add nothing.
  void add_code(base::Bytes definition);
  void add_code(uint64_t identity, unsigned minor, std::string name, std::string file, uint32_t first_line,
                base::Bytes lines);
  static std::optional<PythonStack> read_stack(base::Bytes frames);

  // The native functions, innermost first, with the Python functions in the place of those of the interpreter that ran
  // them. `ends` are where the frames of the native functions end in the stack; `root_is_known` becomes true if the
  // native stack was cut, and Python's goes to its end. Valid until the next call.
  std::span<const uint64_t> put_into(std::span<const uint64_t> natives, std::span<const uint64_t> ends,
                                     const PythonStack& python, bool& root_is_known);

  static bool is_python(uint64_t address) { return address >= kFirst && address < kFirst + kMost; }
  // Of an address in a result of put_into().
  const Place& at(uint64_t address) const { return places_[address - kFirst]; }

 private:
  static constexpr uint64_t kFirst = uint64_t{1} << 62, kMost = uint64_t{1} << 22;
  struct Code {
    unsigned minor = 0;
    std::string name, file;
    uint32_t first_line = 0;
    std::vector<std::byte> lines;
  };
  uint64_t address_of(const PythonStack::Frame& frame);

  std::map<uint64_t, Code> codes_;                               // by identity
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> addresses_;  // by code and line
  std::vector<Place> places_;
  std::vector<uint64_t> merged_;
};

}  // namespace kymo::sample
