#include "device/opencl/source_text.h"

#include <array>
#include <cctype>

#include "base/text.h"

namespace kymo::device::opencl {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (at > 0 && is_word_character(text[at - 1])) continue;
    if (end < text.size() && is_word_character(text[end])) continue;
    return true;
  }
  return false;
}

template <size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words)
    if (has_word(text, word)) return true;
  return false;
}

constexpr std::array<std::string_view, 3> kLaunchSize = {"get_num_groups", "get_global_size", "get_global_linear_id"};
constexpr std::array<std::string_view, 5> kLaunchShape = {
    "get_group_id", "get_global_offset", "get_enqueued_local_size", "reqd_work_group_size", "__reqd_work_group_size__"};
constexpr std::array<std::string_view, 7> kGroups = {
    "get_local_id", "get_local_size", "get_local_linear_id", "barrier", "local", "__local", "asm"};
// Parts of names: sub_group_reduce_add, work_group_barrier, intel_sub_group_shuffle, async_work_group_copy.
constexpr std::array<std::string_view, 2> kGroupFamilies = {"sub_group", "work_group"};

std::string in_quotes(std::string_view file) {
  std::string text = "\"";
  for (const char c : file) {
    if (c == '\n' || c == '\r') continue;
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

bool asks_for_speed(std::string_view options) {
  return options.find("-cl-mad-enable") != std::string_view::npos ||
         options.find("-cl-fast-relaxed-math") != std::string_view::npos ||
         options.find("-cl-unsafe-math-optimizations") != std::string_view::npos;
}

std::string choose(const Extent& extent) {
  return base::format("(d == 0 ? {}ul : d == 1 ? {}ul : d == 2 ? {}ul : ", extent.x, extent.y, extent.z);
}

}  // namespace

Sees look_into(std::string_view source, std::string_view options) {
  Sees sees;
  const bool includes = source.find("#include") != std::string_view::npos ||
                        source.find("# include") != std::string_view::npos ||
                        options.find("-include") != std::string_view::npos;
  for (const std::string_view text : {source, options}) {
    sees.launch_size |= has_any(text, kLaunchSize);
    sees.launch_shape |= has_any(text, kLaunchShape);
    sees.groups |= has_any(text, kGroups);
    for (const std::string_view family : kGroupFamilies) sees.groups |= text.find(family) != std::string_view::npos;
  }
  sees.launch_size |= includes;
  sees.launch_shape |= sees.launch_size;
  sees.groups |= sees.launch_shape;
  return sees;
}

std::string preamble(std::string_view file, std::string_view options) {
  return base::format("{}#line 1 {}\n", asks_for_speed(options) ? "" : "#pragma OPENCL FP_CONTRACT OFF\n",
                      in_quotes(file));
}

std::string piece_preamble(std::string_view file, std::string_view options, const Extent& group, const Extent& tail) {
  // In a piece at the edge, the offset is not 0 and the launch ends where the piece ends. In any other piece, the
  // launch is longer than the piece by the tail.
  std::string text = "static size_t kymo_piece_group(uint d) { return " + choose(group) + "1ul); }\n";
  text += "static size_t kymo_piece_size(uint d) { size_t offset = get_global_offset(d), size = get_global_size(d);\n";
  text += "  return offset != 0 ? offset + size : size + " + choose(tail) + "0ul); }\n";
  text +=
      "static size_t kymo_piece_group_id(uint d) { return (get_global_id(d) - get_local_id(d)) / kymo_piece_group(d); "
      "}\n"
      "static size_t kymo_piece_num_groups(uint d) { return (kymo_piece_size(d) + kymo_piece_group(d) - 1) / "
      "kymo_piece_group(d); }\n"
      "static size_t kymo_piece_linear_id(void) {\n"
      "  return (get_global_id(2) * kymo_piece_size(1) + get_global_id(1)) * kymo_piece_size(0) + get_global_id(0); }\n"
      "#define get_group_id(d) kymo_piece_group_id(d)\n"
      "#define get_num_groups(d) kymo_piece_num_groups(d)\n"
      "#define get_global_size(d) kymo_piece_size(d)\n"
      "#define get_global_offset(d) ((size_t)((d) * 0))\n"
      "#define get_global_linear_id() kymo_piece_linear_id()\n"
      "#define get_enqueued_local_size(d) kymo_piece_group(d)\n"
      "#define reqd_work_group_size(x, y, z)\n"
      "#define __reqd_work_group_size__(x, y, z)\n";
  return text + preamble(file, options);
}

std::string all_options(std::span<const std::string> given, std::string_view newest_language, std::string own) {
  bool names_language = false;
  for (const std::string& option : given) names_language |= option.find("-cl-std") != std::string::npos;
  std::string all = std::move(own);
  if (!names_language && !newest_language.empty()) all += base::format(" -cl-std={}", newest_language);
  for (const std::string& option : given) all += " " + option;
  return all;
}

bool allows_partial_groups(std::string_view options) {
  if (options.find("-cl-uniform-work-group-size") != std::string_view::npos) return false;
  const size_t at = options.rfind("-cl-std=CL");
  if (at == std::string_view::npos) return false;
  const std::string_view version = options.substr(at + std::string_view("-cl-std=CL").size());
  return version.starts_with("2") || version.starts_with("3") || version.starts_with("C++");
}

}  // namespace kymo::device::opencl
