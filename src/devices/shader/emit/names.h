// Names for the text of a target: those of the source, made legal and unique.
//
// Scopes nest as in the text. A name always differs from the names of the scopes around it, so nothing hides anything.
// Scopes next to each other may use the same name. Not thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader {

using Words = std::unordered_set<std::string_view>;

// Names that a target and its prelude reserve.
struct Reserved {
  Words everywhere;  // keywords, and names that generated text uses
  Words outermost;   // also forbidden for functions, types and constants: the other built-in functions
};
// From a file reserved_TARGET.txt: words and comments; a line that begins with ---- is between the two lists. The words
// refer to the file's text.
Reserved read_reserved(std::string_view file);

class Names {
 public:
  explicit Names(const Reserved& reserved) : reserved_(reserved), scopes_(1) {}

  // A name similar to `wanted`, reserved until its scope ends. It never begins with "kymo_": those names belong to the
  // prelude.
  std::string take(std::string_view wanted) { return take_in(scopes_.size() - 1, wanted); }
  // The same in the outermost scope, independent of the current scope.
  std::string take_outermost(std::string_view wanted) { return take_in(0, wanted); }
  void enter() { scopes_.emplace_back(); }
  void leave();

 private:
  std::string take_in(size_t scope, std::string_view wanted);
  bool is_free(const std::string& name, bool outermost) const;

  const Reserved& reserved_;
  std::vector<std::vector<std::string>> scopes_;
  std::unordered_map<std::string, uint32_t> used_;  // number of scopes that have it
  std::unordered_map<std::string, uint32_t> next_;  // the last number that was appended to a name
};

// Letters, digits and underscores, never two underscores in a row, and no digit, underscore or "gl_" at the front.
// "ns::scale<float4, 2>" becomes "ns_scale_float4_2", "operator+" becomes "operator_plus".
std::string legal_name(std::string_view wanted);

// A type as part of a name: "float4", "device_int_pointer", "float_4" (an array), "Pair_int".
std::string name_part(const Type* type);

// Reserves an outermost name for each function, in this order. Kernels have their host names. If several functions have
// the same name, the types of the parameters are appended: scale_float, scale_int.
std::unordered_map<const ir::Function*, std::string> name_functions(std::span<const ir::Function* const> functions,
                                                                    Names& names);

}  // namespace kymo::shader
