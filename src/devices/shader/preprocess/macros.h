// Macro definitions: their parameters and their replacement, parsed once and used often.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/lexer.h"
#include "shader/preprocess/token.h"

namespace kymo::shader {

struct MacroToken : Token {
  bool is_final = false;  // the name of a macro inside its own expansion: it stays a name
};

// One step of an expansion.
struct MacroPart {
  enum class Kind : uint8_t {
    Text,              // body[token]
    Parameter,         // the argument, expanded; unexpanded if `is_raw`
    Stringify,         // # parameter
    Paste,             // ##
    Optional,          // __VA_OPT__(: the parts up to `end`, if there are variable arguments
    StringifyOptional  // # __VA_OPT__(
  };
  Kind kind = Kind::Text;
  bool is_raw = false;     // next to ##
  uint32_t token = 0;      // its index in the body
  uint32_t parameter = 0;  // its number
  uint32_t end = 0;
};

enum class MacroKind : uint8_t { Defined, File, Line, Counter, HasInclude };

struct Macro {
  std::string_view name;
  Location at;
  MacroKind kind = MacroKind::Defined;
  bool is_function = false;
  bool is_variadic = false;  // the last parameter takes all remaining arguments
  bool in_use = false;       // its expansion is being read
  std::vector<std::string_view> parameters;
  std::vector<MacroToken> body;  // as written
  std::vector<MacroPart> parts;  // empty: the body unchanged
};

class MacroTable {
 public:
  Macro* find(std::string_view name) {
    if ((filter_[static_cast<unsigned char>(name[0])] & bit_of(name)) == 0) return nullptr;
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  void add(Macro macro);               // replaces a macro with the same name
  void remove(std::string_view name);  // a macro that is in use stays valid

 private:
  // Most names are not macros. A name whose first character and length match no macro is rejected at once.
  static uint64_t bit_of(std::string_view name) { return uint64_t{1} << (name.size() & 63); }

  std::deque<Macro> macros_;
  std::unordered_map<std::string_view, Macro*> by_name_;
  std::array<uint64_t, 256> filter_{};
};

// Reads the rest of the line after #define. Throws Rejected.
Macro read_macro(Lexer& line, const Location& directive);

bool same_definition(const Macro& a, const Macro& b);

}  // namespace kymo::shader
