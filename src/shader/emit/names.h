// Names for a target's text: the source's, made legal and unique.
//
// Scopes nest as the text's do. A name is never the same as one of a scope around it, so nothing hides anything; scopes
// that lie beside each other may use the same. Not thread-safe.
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
Words words_of(std::string_view text);  // those with blanks between them; they are parts of the text

// What a target and its prelude keep to themselves.
struct Reserved {
  const Words& everywhere;  // keywords, and what generated text uses
  const Words& outermost;   // and no function, type or constant may be called so either: the other built-in functions
};

class Names {
 public:
  explicit Names(Reserved reserved) : reserved_(reserved), scopes_(1) {}

  // A name like `wanted`, in use from now on until its scope ends. Never one that begins with "kymo_": those are the
  // prelude's.
  std::string take(std::string_view wanted) { return take_in(scopes_.size() - 1, wanted); }
  // The same, of the outermost scope, wherever the text is just now.
  std::string take_outermost(std::string_view wanted) { return take_in(0, wanted); }
  void enter() { scopes_.emplace_back(); }
  void leave();

 private:
  std::string take_in(size_t scope, std::string_view wanted);
  bool is_free(const std::string& name, bool outermost) const;

  Reserved reserved_;
  std::vector<std::vector<std::string>> scopes_;
  std::unordered_map<std::string, uint32_t> used_;  // how many scopes have it
  std::unordered_map<std::string, uint32_t> next_;  // the number that was given last behind a name
};

// Letters, digits and underscores, never two of these in a row; no digit, underscore or "gl_" at the front.
// "ns::scale<float4, 2>" becomes "ns_scale_float4_2", "operator+" "operator_plus".
std::string legal_name(std::string_view wanted);

// A type as part of a name: "float4", "device_int_pointer", "float_4" (an array), "Pair_int".
std::string name_part(const Type* type);

// Takes an outermost name for each function, in this order. Kernels are called by their host names. Of several
// functions with the same name each gets its parameters' types behind it: scale_float, scale_int.
std::unordered_map<const ir::Function*, std::string> name_functions(std::span<const ir::Function* const> functions,
                                                                    Names& names);

}  // namespace kymo::shader
