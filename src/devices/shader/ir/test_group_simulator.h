// Runs a kernel for all threads of a group at once, for tests: statements go over all threads that are there, in lock
// step. Knows scalars, locals, buffers of int, calls and simdgroup operations. Whatever a thread does that it must not
// (a place outside of a buffer, a division by 0, an operation that not all threads come to) is noted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

class GroupSimulator {
 public:
  static constexpr uint32_t kMax = 64;
  using Lanes = std::array<uint64_t, kMax>;
  using Mask = uint64_t;

  // `buffers`: of int, for the kernel's bindings in order. `all_must_come`: to simdgroup operations.
  GroupSimulator(uint32_t threads, std::vector<std::vector<int32_t>>& buffers, bool all_must_come);
  void run(const Function& kernel);
  const std::string& fault() const { return fault_; }  // the first; empty: none
  uint32_t collectives() const { return collectives_; }

 private:
  struct Frame {
    std::map<const Variable*, Lanes> variables;
    Lanes returned{};
  };

  void fail(const std::string& text);
  Mask block(const Block& statements, Mask mask);  // the threads that come out at its end
  Mask statement(const Statement& s, Mask mask);
  Mask loop(const Statement& s, Mask mask);
  Mask switch_(const Statement& s, Mask mask);
  void assign(const Expression& place, const Lanes& given, Mask mask);
  Lanes value(const Expression& e, Mask mask);
  Lanes load(const Expression& e, Mask mask);
  Lanes call(const Expression& e, Mask mask);
  Lanes intrinsic(const Expression& e, Mask mask);
  Lanes collective(const Expression& e, Mask mask, Mask there);
  Mask truth(const Expression& e, Mask mask);
  int32_t* element(uint64_t pointer);

  uint32_t threads_;
  Mask all_;
  std::vector<std::vector<int32_t>>& buffers_;
  bool all_must_come_;
  std::string fault_;
  uint32_t collectives_ = 0, steps_ = 0;
  Frame frame_;
  Mask broken_ = 0, continued_ = 0;
};

}  // namespace kymo::shader::ir
