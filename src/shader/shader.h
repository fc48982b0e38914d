// Metal's shading language, translated: text in; text, reflection and diagnostics out. No device, no files, no state.
//
//   preprocess/  characters become tokens
//   parse/       tokens become a syntax tree
//   sema/        types, overloads, templates: the tree becomes functions (ir/)
//   ir/          a small typed language, and the passes that all targets need
//   emit/        writes OpenCL C, CUDA C++ or GLSL
//   library/     namespace metal and the c10/metal headers, written in Metal
//
// Thread-safe: every call stands alone. Any input ends in a translation or in an error, in time linear in what it says.
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
  std::string file = "shader";                              // what messages call the source
  std::vector<std::string> defines;                         // "NAME", "NAME=VALUE"
  std::map<std::string, std::string, std::less<>> headers;  // for #include "…"
  std::map<std::string, double, std::less<>> constants;     // function constants, by name or by index ("0")
  // The most expressions a source may mean, with those of its default arguments and templates.
  uint64_t most_expressions = 500'000;
};

// How the generated kernel takes an argument. Sizes are those of Metal's layout.
enum class Passing : uint8_t {
  Address,  // 8 bytes: a device address
  // A structure {uint64 address; T value}: `inline_bytes` in all, the value at `value_offset`. The address is 0 and the
  // value counts, or the value lies at that address.
  Inline,
  Group,  // threadgroup memory of so many bytes: OpenCL a __local pointer, CUDA and GLSL see emit/
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
  // Of a value, or of what a buffer or group memory is of. Numbers, vectors and arrays of one kind of number have
  // `scalar` and `count`; a structure of anything else Void.
  TypeKind scalar = TypeKind::Void;
  uint32_t count = 1;
  bool is_addresses = false;  // a structure or array of nothing but device pointers: `count` of them
  uint32_t bytes = 0, align = 1;
  uint32_t inline_bytes = 0, value_offset = 0;
};

struct Kernel {
  std::string name;                         // what it is called by: the source's, or its host_name
  std::string symbol;                       // in the generated text
  std::vector<KernelParameter> parameters;  // in the order of the source, which is that of the generated kernel's
  uint32_t group_memory = 0;                // bytes that it declares itself
  uint32_t max_threads = 0;                 // of a group; 0: the device's limit
  bool uses_simdgroups = false;
  bool takes_grid = false;  // behind its parameters it takes one more, the runtime's: see emit/emit.h
};

struct Translation {
  std::string text;  // empty where there were errors
  std::vector<Kernel> kernels;
  std::vector<Diagnostic> diagnostics;
  std::string log;         // the diagnostics as a compiler prints them
  std::string first_file;  // of the first error
  bool ok() const { return !text.empty(); }
  const Diagnostic* first_error() const;
};

Translation translate(std::string_view source, const Options& options = {});

// Another with every change of the translator: part of the key of what is kept on disk.
uint64_t translator_version();

std::string_view target_name(Target);  // "opencl", "cuda", "glsl"
std::optional<Target> target_named(std::string_view name);

}  // namespace kymo::shader
