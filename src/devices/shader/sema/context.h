// What all classes of the semantic analysis share: input and output of the stage, its limits, and the calls upwards.
//
// An error throws Rejected. Code that can continue after it catches it and calls report(). While template arguments are
// tried, a Rejected means that the candidate does not match.
//
// Limits, each an error: depth of instantiation 200, instances 20,000, depth of expressions 250, expressions lowered
// for one kernel Options::max_expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kymo/translate.h"
#include "shader/diagnostic.h"
#include "shader/ir/build.h"
#include "shader/sema/entity.h"

namespace kymo::shader {

class Types;
class Templates;
class Lowering;

constexpr uint32_t kMaxInstantiationDepth = 200;
constexpr size_t kMaxPackElements = 512;

struct Context {
  Context(const Options& given, Diagnostics& errors, ir::Module& into, uint32_t source)
      : options(given), diagnostics(errors), module(into), table(into.types), user_file(source), builder(into) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Options& options;
  Diagnostics& diagnostics;
  ir::Module& module;
  TypeTable& table;
  const uint32_t user_file;  // the source itself: all its functions are lowered; of other files only the needed ones
  bool matrix_order_is_seen = false;  // which lane holds which elements of a simdgroup_matrix: thread_elements()
  ir::Builder builder;                // its `at` is the current position

  // The calls upwards. Set before the first declaration.
  //
  //   Lookup  ◀─  Types  ◀─  Templates  ◀─  Overloads  ◀─  Lowering      each class uses all classes on its left
  //
  // The language is not a chain: a::S<sizeof(x)>::f is a name that contains a type, template arguments and an
  // expression. Where a class needs a class on its right, it calls one of these. There are no other ways back.
  Types* structs = nullptr;
  Templates* templates = nullptr;
  Lowering* expressions = nullptr;

  uint32_t depth = 0;    // of types, templates and structs that need each other: at most kMaxInstantiationDepth
  size_t instances = 0;  // of classes and functions

  bool is_library(Location at) const { return at.file < user_file; }  // a part of the standard library
  ir::Builder& build(Location at);                                    // for objects at this position
  template <typename Work>
  void reporting(Work work) {  // reports a Rejected of the work
    try {
      work();
    } catch (const Rejected& rejected) {
      report(rejected);
    }
  }
  void report(const Rejected& rejected);  // once: one without a text was already reported
  void check_instances(Location at);      // throws if there are too many
  // Counts a step of the work; their number is limited: defaults that need defaults take 2^n steps in n lines. Each
  // kernel has a budget of its own, because files with hundreds of kernels are common.
  void spend_step(Location at);
  void renew_steps() { steps_ = 0; }

 private:
  [[noreturn]] void give_up(Location at,
                            const std::string& text);  // at a limit: the errors that follow from it are dropped

  uint64_t steps_ = 0;
  bool gave_up_ = false;
};

// The nesting depth: an expression within an expression, a call within a call.
class DepthGuard {
 public:
  DepthGuard(uint32_t& depth, uint32_t max, const Location& at, std::string_view what) : depth_(depth) {
    if (depth_ >= max) {
      throw Rejected{at, std::string(what) + " nests deeper than " + std::to_string(max) + " levels: split it"};
    }
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  uint32_t& depth_;
};

// Restores a value when it is destroyed.
template <typename T>
class Restore {
 public:
  explicit Restore(T& value) : value_(value), before_(value) {}
  ~Restore() { value_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& value_;
  T before_;
};

}  // namespace kymo::shader
