// Translates Metal's shading language: text in; text, reflection and diagnostics out. No device, no files, no state.
//
//   preprocess/  characters become tokens
//   parse/       tokens become a syntax tree
//   sema/        types, overloads, templates: the tree becomes functions (ir/)
//   ir/          a small typed language, and the passes that all targets need
//   emit/        writes OpenCL C, CUDA C++ or GLSL
//   library/     namespace metal and the c10/metal headers, written in Metal
//   test_support/  printers and verifiers, for tests and fuzzers only
//
// Thread-safe: calls are independent. Any input ends in a translation or in an error, in time linear in its expanded
// size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/types/type.h"

namespace kymo::shader {

enum class Target : uint8_t { OpenCl, Cuda, Glsl };

struct Options {
  Target target = Target::OpenCl;
  std::string file = "shader";                              // the name of the source in messages
  std::vector<std::string> defines;                         // "NAME", "NAME=VALUE"
  std::map<std::string, std::string, std::less<>> headers;  // for #include "…"
  std::map<std::string, double, std::less<>> constants;     // function constants, by name or by index ("0")
  // The max number of expressions of a source, including those of its default arguments and templates.
  uint64_t most_expressions = 500'000;
};

// How the generated kernel takes an argument. Sizes are those of Metal's layout.
enum class Passing : uint8_t {
  Address,  // 8 bytes: a device address
  // A structure {uint64 address; T value}: `inline_bytes` in total, the value at `value_offset`. If the address is 0,
  // the value is used; otherwise the value is at that address.
  Inline,
  Group,  // threadgroup memory of this many bytes: OpenCL a __local pointer, CUDA and GLSL see emit/
};

struct KernelParameter {
  enum class Kind : uint8_t { Buffer, Value, Threadgroup };
  std::string name;
  std::string type;  // as Metal spells it: "device float*", "constant float4&"
  Kind kind = Kind::Buffer;
  Passing passing = Passing::Address;
  uint32_t index = 0;  // [[buffer(n)]]
  bool reports_errors = false;
  bool is_const = false;
  // Of a value, or of the elements of a buffer or of group memory. Numbers, vectors and arrays of one kind of number
  // have `scalar` and `count`; other structures have Void.
  TypeKind scalar = TypeKind::Void;
  uint32_t count = 1;
  bool is_addresses = false;  // a structure or array that contains only device pointers: `count` of them
  uint32_t bytes = 0, align = 1;
  uint32_t inline_bytes = 0, value_offset = 0;
};

struct Kernel {
  std::string name;                         // the name for callers: the source's, or its host_name
  std::string symbol;                       // in the generated text
  std::vector<KernelParameter> parameters;  // in the order of the source, which is also that of the generated kernel
  uint32_t group_memory = 0;                // bytes that it declares itself
  uint32_t max_threads = 0;                 // of a group; 0: the device's limit
  bool uses_simdgroups = false;
  bool takes_grid = false;  // after its parameters it takes one more, from the runtime: see emit/emit.h
};

struct Translation {
  std::string text;  // empty if there were errors
  std::vector<Kernel> kernels;
  std::vector<Diagnostic> diagnostics;
  std::string log;         // the diagnostics as a compiler prints them
  std::string first_file;  // of the first error
  bool ok() const { return !text.empty(); }
  const Diagnostic* first_error() const;
};

Translation translate(std::string_view source, const Options& options = {});

// Changes with every change of the translator: part of the key of code on disk.
uint64_t translator_version();

std::string_view target_name(Target);  // "opencl", "cuda", "glsl"
std::optional<Target> target_named(std::string_view name);

}  // namespace kymo::shader
