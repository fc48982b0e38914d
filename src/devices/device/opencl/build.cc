#include "device/opencl/build.h"

#include <cctype>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "device/opencl/api.h"
#include "device/ptx/ptx.h"

namespace kymo::device::opencl {
namespace {

std::string log_of(const Context& context, cl_program program) {
  return text_from([&](auto... to) {
    return context.cl.clGetProgramBuildInfo(program, context.device.id, CL_PROGRAM_BUILD_LOG, to...);
  });
}

bool is_about_the_source(cl_int code) {
  return code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS || code == CL_INVALID_COMPILER_OPTIONS ||
         code == CL_LINK_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE;
}

}  // namespace

BuiltProgram build(const Context& context, const std::string& text, const std::string& options, std::string_view file) {
  const Api& cl = context.cl;
  const char* string = text.data();
  const size_t length = text.size();
  cl_int code = CL_SUCCESS;
  BuiltProgram program(cl.clCreateProgramWithSource(context.handle.get(), 1, &string, &length, &code),
                       cl.clReleaseProgram);
  check(code, "clCreateProgramWithSource");
  code = cl.clBuildProgram(program.get(), 1, &context.device.id, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  if (!is_about_the_source(code)) fail(code, "clBuildProgram");
  std::string log = log_of(context, program.get());
  if (log.empty()) log = "error: " + error_text(code, "clBuildProgram") + "; the options were: " + options;
  throw compile_error(log, file);
}

BuiltProgram build_binary(const Context& context, std::span<const std::byte> binary, const std::string& options) {
  const Api& cl = context.cl;
  const size_t length = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int taken = CL_SUCCESS, code = CL_SUCCESS;
  BuiltProgram program(
      cl.clCreateProgramWithBinary(context.handle.get(), 1, &context.device.id, &length, &bytes, &taken, &code),
      cl.clReleaseProgram);
  if (code != CL_SUCCESS || taken != CL_SUCCESS) return {};
  if (cl.clBuildProgram(program.get(), 1, &context.device.id, options.c_str(), nullptr, nullptr) != CL_SUCCESS)
    return {};
  return program;
}

std::vector<std::byte> binary_of(const Context& context, cl_program program) {
  const Api& cl = context.cl;
  size_t size = 0;
  if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS) return {};
  std::vector<std::byte> binary(size);
  std::byte* into = binary.data();
  if (size == 0 || cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof into, &into, nullptr) != CL_SUCCESS)
    return {};
  return binary;
}

BuiltProgram build_stamped(const Context& context, cl_program program, const std::string& options) try {
  if (!context.device.makes_ptx) return {};
  const std::vector<std::byte> binary = binary_of(context, program);
  std::string_view text(reinterpret_cast<const char*>(binary.data()), binary.size());
  text = text.substr(0, text.find('\0'));
  if (!looks_like_ptx(text)) return {};
  const PtxProgram edited = stamp_ptx(text);
  if (!edited.stamps || edited.entries.empty()) return {};
  // With the zero at its end, as the driver writes it.
  return build_binary(context, std::as_bytes(std::span(edited.text.c_str(), edited.text.size() + 1)), options);
} catch (const Error&) {
  return {};
}

namespace {

constexpr std::string_view kMarks[] = {"fatal error: ", "error: "};

// The names that compilers give to source text: temporary files of PoCL and of other drivers.
constexpr std::string_view kTemporaryNames[] = {"/tempfile", "/tmp/", "<kernel>", "<source>", "<program source>"};

struct Place {
  std::string_view file;
  uint32_t line = 0, column = 0;
  std::string_view rest;
};

std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ':') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return number;
}

// "FILE:LINE:COLUMN: rest" or "FILE:LINE: rest" at the beginning of `text`.
std::optional<Place> place_in(std::string_view text) {
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    std::string_view rest = text.substr(colon + 1);
    const auto line = take_number(rest);
    if (!line || colon == 0) continue;
    std::string_view after_column = rest;
    const auto column = take_number(after_column);
    if (column) rest = after_column;
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    return Place{text.substr(0, colon), *line, column.value_or(0), rest};
  }
  return std::nullopt;
}

std::optional<FirstError> error_in(std::string_view line) {
  for (const std::string_view mark : kMarks) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view before = line.substr(0, at), after = line.substr(at + mark.size());
    if (const auto place = place_in(before))  // clang's form: the place, then the mark
      return FirstError{std::string(place->file), place->line, place->column, std::string(after)};
    if (const auto place = place_in(after))  // PoCL's
      return FirstError{std::string(place->file), place->line, place->column, std::string(place->rest)};
    return FirstError{"", 0, 0, std::string(after)};
  }
  return std::nullopt;
}

bool is_temporary(std::string_view name) {
  for (const std::string_view part : kTemporaryNames)
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

FirstError first_error(std::string_view log) {
  FirstError without_place;
  for (const std::string& line : base::split(log, '\n')) {
    if (auto error = error_in(line)) {
      if (error->line != 0) return std::move(*error);
      if (without_place.text.empty()) without_place = std::move(*error);
    }
  }
  return without_place;
}

std::string cleaned_log(std::string_view log, std::string_view file) {
  while (!log.empty() && (log.back() == '\0' || std::isspace(static_cast<unsigned char>(log.back()))))
    log.remove_suffix(1);
  while (!log.empty() && std::isspace(static_cast<unsigned char>(log.front()))) log.remove_prefix(1);
  std::vector<std::string> lines = base::split(log, '\n');
  for (std::string& line : lines) {
    size_t lead = 0;
    for (const std::string_view mark : {"error: ", "warning: ", "note: "})
      if (line.starts_with(mark)) lead = mark.size();
    const auto place = place_in(std::string_view(line).substr(lead));
    if (place && is_temporary(place->file)) line.replace(lead, place->file.size(), file);
  }
  return base::join(lines, "\n");
}

CompileError compile_error(std::string_view log, std::string_view file) {
  const std::string message = cleaned_log(log, file);
  FirstError first = first_error(message);
  if (first.file.empty()) first.file = file;
  return CompileError(message, std::move(first.file), first.line, first.column, std::move(first.text));
}

}  // namespace kymo::device::opencl
