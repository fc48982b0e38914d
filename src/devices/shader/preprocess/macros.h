// Macros: their definitions, parsed once and used often, and their expansion.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {

struct MacroToken : Token {
  bool is_final = false;  // the name of a macro inside its own expansion: it stays a name
};

// One step of an expansion.
struct MacroPart {
  enum class Kind : uint8_t {
    Text,       // body[token]
    Parameter,  // the argument, expanded; unexpanded if `is_raw`
    Stringify,  // # parameter
    Paste,      // ##
  };
  Kind kind = Kind::Text;
  bool is_raw = false;     // next to ##
  uint32_t token = 0;      // its index in the body
  uint32_t parameter = 0;  // its number
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

// A limit was exceeded, and the work ends here.
struct Overrun {
  Rejected why;
};

// The source of tokens that do not come from macros.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Token next() = 0;  // after the last one: always End
};

// Expands macros: replaces their names in a list of tokens.
//
// As in C++: arguments are expanded before they are inserted, the result is scanned again together with the following
// tokens, and a macro is not expanded inside itself. The nesting and the total number of tokens are limited: Overrun.
class Expander {
 public:
  Expander(MacroTable& macros, TokenSource& source, const SourceFiles& files, std::deque<std::string>& texts,
           Diagnostics& diagnostics)
      : macros_(macros), source_(source), files_(files), texts_(texts), diagnostics_(diagnostics) {}

  bool next(MacroToken& token);  // expanded; false at the end of a line (see below). The source ends with End
  bool read(MacroToken& token);  // like next, but not expanded

  // Between these calls, tokens come only from the line of a directive. While arguments are read from the source, there
  // may be a directive among them.
  void begin_line(std::vector<MacroToken> tokens);
  void end_line();

 private:
  // A list of tokens that is being read, the innermost one last.
  struct Context {
    enum class Kind : uint8_t {
      Expansion,
      Argument,  // expanded separately: reading stops at its end
      Line       // the same
    };
    Kind kind = Kind::Expansion;
    bool is_first = true;                           // its next token is the first: it replaces the name of the macro
    bool space_before = false, line_start = false;  // of that name
    Macro* macro = nullptr;
    const MacroToken* at = nullptr;
    const MacroToken* end = nullptr;
    std::vector<MacroToken> owned;
    Location outer_origin;
  };

  struct Argument {
    std::vector<MacroToken> tokens, expanded;
    bool is_expanded = false;
  };

  Context& push(Context::Kind kind, std::vector<MacroToken> tokens);
  void pop();
  const MacroToken* peek();
  void spend(size_t tokens);
  void spend_text(size_t bytes);            // long texts count as many tokens
  std::string_view keep(std::string text);  // keeps the text of a new token

  MacroToken make_builtin(const Macro& macro, const MacroToken& name);
  bool expand(Macro& macro, const MacroToken& name);  // false: not possible; it was reported
  bool read_arguments(const Macro& macro, std::vector<Argument>& arguments);
  const std::vector<MacroToken>& expanded(Argument& argument);

  // The parts of a macro, with its arguments inserted.
  void substitute(const Macro& macro, std::vector<Argument>& arguments, std::vector<MacroToken>& out);
  void append(std::span<const MacroToken> piece, bool space_before, bool pasted, std::vector<MacroToken>& out);
  void paste(std::vector<MacroToken>& out, const MacroToken& right);
  MacroToken stringify(const std::vector<MacroToken>& tokens, const MacroToken& sharp);
  static std::string escaped(std::string_view text);  // for use between quotes

  MacroTable& macros_;
  TokenSource& source_;
  const SourceFiles& files_;
  std::deque<std::string>& texts_;
  Diagnostics& diagnostics_;
  std::vector<Context> contexts_;  // depth_ of them are in use; the others keep their memory
  size_t depth_ = 0;
  MacroToken pending_;  // from the source: read, but not used yet
  bool has_pending_ = false;
  Location origin_;  // of the outermost macro that is being expanded
  uint64_t spent_ = 0;
  uint64_t counter_ = 0;
};

}  // namespace kymo::shader
