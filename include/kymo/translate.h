// Translates Metal's shading language to OpenCL C, CUDA C++ or GLSL. Needs no device and no driver; link kymo::shader.
//
//   using namespace kymo;
//   const shader::Translation translation = shader::translate(source, {.target = shader::Target::Glsl});
//   if (!translation.ok()) throw std::runtime_error(translation.log);
//   std::cout << translation.text;
//
// compile_shader() of kymo/shader.h translates a source, compiles it for a device and launches its kernels.
// docs/shaders.md describes the language.
//
// Thread-safe: calls are independent. Any input ends in a translation or in an error, in time linear in its expanded
// size. Errors in the source are no exceptions: they are in the result.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/export.h"

namespace kymo::shader {

// OpenCL C 1.2; CUDA C++ for NVRTC with --fmad=false; GLSL 4.5 for Vulkan, with buffer references.
enum class Target : uint8_t { OpenCl, Cuda, Glsl };

// A file that an #include names.
struct IncludedFile {
  std::string name;  // for messages, and for the includes in it; a file is read once for each name
  std::string text;
};

struct Options {
  Target target = Target::OpenCl;
  std::string file = "shader";                                   // the name of the source in messages
  std::vector<std::string> defines = {};                         // "NAME", "NAME=VALUE"
  std::map<std::string, std::string, std::less<>> headers = {};  // for #include "…"
  // Function constants, by name or by index ("0"). Vectors by component: "tint.x", "tint.y".
  std::map<std::string, double, std::less<>> constants = {};
  // Lets simdgroup_multiply and simdgroup_multiply_accumulate of half and bfloat matrices use the matrix unit of the
  // target: CUDA's tensor cores. They add in another order, so results may differ in their last bits from those of
  // other targets. Other targets and types are not changed.
  bool tensor_cores = false;
  bool lines = false;  // on CUDA, #line directives, so that profilers show the lines of the source
  // The kernels to translate, by the names that callers use; empty: all. The bodies of the others are parsed only, and
  // errors in them are not found.
  std::vector<std::string> kernels = {};
  // The max number of expressions of a kernel, including those of its functions, default arguments and templates.
  uint64_t max_expressions = 500'000;
  // Called for each #include that is not in `headers`, before the built-in headers: the file, or nothing. `from` is the
  // name of the file with the #include.
  std::function<std::optional<IncludedFile>(std::string_view name, std::string_view from)> include = {};
};

// ---- Kernels -------------------------------------------------------------------------------------------------------

// How the generated kernel takes an argument. On OpenCL and CUDA an argument is a parameter of the kernel; on GLSL it
// is a member of the push constants, with `scalar` layout. Sizes and alignments are those of Metal.
//
// If the push constants of a kernel would have more than 92 bytes, the generated GLSL has one push constant, the
// device address of a block with all of them in the same order. The block must start at a multiple of 64. In it, an
// Inline starts at a multiple of its `value_offset`, and an Address at a multiple of 8.
enum class Passing : uint8_t {
  Address,  // 8 bytes: a device address
  // A structure {uint64 address; T value}: `inline_bytes` in total, the value at `value_offset`. If the address is 0,
  // the value is used; otherwise the value is at that address.
  Inline,
  // Threadgroup memory. OpenCL: a __local pointer. CUDA: the offset in the dynamic shared memory. GLSL: no push
  // constant, but a specialisation constant with the number of elements, from constant 3 on.
  Group,
};

enum class Scalar : uint8_t { None, Bool, Char, UChar, Short, UShort, Int, UInt, Long, ULong, Half, BFloat, Float };

// texture1d, texture2d, texture2d_array, texture3d
enum class TextureShape : uint8_t { None, Line, Plane, Layers, Volume };
enum class TextureAccess : uint8_t { Sample, Read, Write, ReadWrite };

// The value of a texture parameter: memory that the kernel reads as a texture. Strides are in elements.
struct TextureValue {
  uint64_t address = 0;
  uint32_t width = 0, height = 1, depth = 1;  // depth: also the number of layers
  uint32_t channels = 1;                      // 1 to 4
  // The type of the elements: 1 half, 2 bfloat, 3 float, 5 char, 6 uchar, 7 short, 8 ushort, 9 int, 10 uint. In a
  // texture of floats or halves, integers of 8 and 16 bits stand for numbers from 0 or -1 to 1.
  uint32_t format = 3;
  uint32_t unused = 0;
  int64_t x_stride = 0, y_stride = 0, z_stride = 0, channel_stride = 0;
};

struct KernelParameter {
  // A Texture takes a TextureValue, a Sampler takes one uint; both are passed like a Value.
  enum class Kind : uint8_t { Buffer, Value, Threadgroup, Texture, Sampler };
  std::string name;
  std::string type;  // as Metal spells it: "device float*", "constant float4&"
  Kind kind = Kind::Buffer;
  Passing passing = Passing::Address;
  uint32_t index = 0;           // [[buffer(n)]], [[texture(n)]]…
  bool reports_errors = false;  // device c10::metal::ErrorMessages*: callers do not pass it
  bool is_const = false;        // declared so
  bool is_written = false;      // the kernel itself writes to it; not set if only functions that it calls do
  // Of a value, or of the elements of a buffer or of group memory. Numbers, vectors and arrays of one kind of number
  // have `scalar` and `count`; other structures have None.
  Scalar scalar = Scalar::None;
  uint32_t count = 1;
  TextureShape texture = TextureShape::None;  // of a Texture; its `scalar` is what it gives
  TextureAccess access = TextureAccess::Sample;
  bool is_addresses = false;  // a structure or array that contains only device pointers: `count` of them
  uint32_t bytes = 0, align = 1;
  uint32_t inline_bytes = 0, value_offset = 0;  // of Passing::Inline
};

struct Kernel {
  std::string name;                         // the name for callers: the source's, or its host_name
  std::string symbol;                       // in the generated text
  std::vector<KernelParameter> parameters;  // in the order of the source, which is also that of the generated kernel
  uint32_t group_memory = 0;                // bytes that it declares itself
  uint32_t max_threads = 0;                 // of a group; 0: the device's limit
  bool uses_simdgroups = false;
  bool uses_simdgroup_matrices = false;  // all threads of its simdgroups must exist
  // It has one more parameter, the last, with the grid of the launch. OpenCL and CUDA: by value, a structure
  // {uint threads[3]; uint group[3]; uint offset[3];}, where `offset` is the first thread of this launch, if a grid is
  // launched in several pieces. GLSL: uint[6], only threads and group.
  bool takes_grid = false;
};

// The order in which a caller passes the arguments: argument i is for parameters[order[i]].
//
// In Metal an argument has an index: [[buffer(n)]], [[threadgroup(n)]], [[texture(n)]] or [[sampler(n)]]. These kinds
// are counted separately. The arguments of a kind are sorted by index, and fill the positions that the source has for
// that kind:
//
//   kernel void f(device float* b [[buffer(1)]], threadgroup float* t, device float* a [[buffer(0)]])      f(a, t, b)
KYMO_API std::vector<uint32_t> argument_order(const Kernel& kernel);

// ---- Translation ---------------------------------------------------------------------------------------------------

enum class Severity : uint8_t { Error, Warning, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string file;               // of the source, or of the header
  uint32_t line = 0, column = 0;  // from 1; 0: no position
  std::string text;               // one line, without a period
};

struct Translation {
  std::string text;  // empty if there were errors
  std::vector<Kernel> kernels;
  std::vector<Diagnostic> diagnostics;
  std::string log;  // the diagnostics as a compiler prints them, with the lines of the source
  bool ok() const { return !text.empty(); }
  KYMO_API const Diagnostic* first_error() const;  // null: no error
};

KYMO_API Translation translate(std::string_view source, const Options& options = {});

// ---- Files of translated kernels -----------------------------------------------------------------------------------

// The contents of a .kymolib file: a source, translated for one target or for several. Loading it needs no translator.
// load_metallib() of kymo/shader.h compiles it for a device.
struct KernelLibrary {
  struct Part {
    Target target = Target::OpenCl;
    std::string text;
    std::vector<Kernel> kernels;
  };
  std::vector<Part> parts;  // at most one for each target
  const Part* find(Target target) const {
    for (const Part& part : parts)
      if (part.target == target) return &part;
    return nullptr;
  }
};

KYMO_API std::string encode_library(const KernelLibrary& library);
// Throws Error if the bytes are damaged, or are no such file. They may come from anywhere: everything is checked.
KYMO_API KernelLibrary decode_library(std::string_view untrusted);
KYMO_API bool is_library(std::string_view bytes);  // looks only at the first bytes

// Changes with every change of the translator: a part of the key of a cache.
KYMO_API uint64_t translator_version();

KYMO_API std::string_view target_name(Target target);  // "opencl", "cuda", "glsl"
KYMO_API std::optional<Target> target_named(std::string_view name);

}  // namespace kymo::shader
