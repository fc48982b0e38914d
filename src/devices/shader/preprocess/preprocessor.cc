#include "shader/preprocess/preprocessor.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "shader/preprocess/condition.h"
#include "shader/preprocess/headers.h"
#include "shader/preprocess/literals.h"
#include "shader/preprocess/macros.h"

namespace kymo::shader {
namespace {

constexpr size_t kMaxOpenFiles = 64;
constexpr size_t kMaxHeaders = 10'000;  // read, all together
constexpr size_t kLongestSource = size_t{16} << 20;

// Why a file cannot be a source; empty: it may be one. Bytes above 0x7f may be in comments, in any encoding.
std::string_view refusal_of(std::string_view text) {
  if (text.starts_with("MTLB")) return "is a compiled Metal library: its source is needed";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return "is UTF-16: save it as UTF-8";
  if (text.find('\0') != text.npos) return "is not a text: it has bytes of 0";
  return "";
}

bool is_macro_signature(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const size_t end = std::min(text.find_first_not_of(kLetters), text.size());
  if (end == 0 || (text[0] >= '0' && text[0] <= '9')) return false;
  return end == text.size() || (text[end] == '(' && text.find(')') == text.size() - 1);
}

constexpr size_t kMaxConditionals = 256;

bool begins_conditional(std::string_view name) { return name == "if" || name == "ifdef" || name == "ifndef"; }

bool is_alternative(std::string_view name) {
  return name == "else" || name == "elif" || name == "elifdef" || name == "elifndef";
}

// Reads the files of a translation, including nested ones, and executes their directives. The result is the tokens in
// which macros are expanded.
//
// A wrong directive is reported and skipped; a wrong condition counts as false.
class SourceReader final : public TokenSource {
 public:
  // `input` must outlive the reader.
  SourceReader(SourceFiles& files, const PreprocessorInput& input, std::deque<std::string>& texts,
               Diagnostics& diagnostics)
      : files_(files),
        input_(input),
        texts_(texts),
        diagnostics_(diagnostics),
        expander_(macros_, *this, files, texts, diagnostics) {
    constexpr std::pair<std::string_view, MacroKind> kBuiltin[] = {{"__FILE__", MacroKind::File},
                                                                   {"__LINE__", MacroKind::Line},
                                                                   {"__COUNTER__", MacroKind::Counter},
                                                                   {"__has_include", MacroKind::HasInclude}};
    for (const auto& [name, kind] : kBuiltin) {
      Macro macro;
      macro.name = name;
      macro.kind = kind;
      macros_.add(std::move(macro));
    }
    constexpr std::string_view kPredefined[] = {"__METAL__=1",
                                                "__METAL_VERSION__=320",
                                                "__METAL_MACOS__=1",
                                                "__METAL_MEMORY_SCOPE_SYSTEM__=4",
                                                "__HAVE_BFLOAT__=1",
                                                "__cplusplus=201703L",
                                                "__INT8_MAX__=127",
                                                "__INT16_MAX__=32767",
                                                "__INT32_MAX__=2147483647",
                                                "__INT64_MAX__=9223372036854775807l",
                                                "__UINT8_MAX__=255",
                                                "__UINT16_MAX__=65535",
                                                "__UINT32_MAX__=4294967295u",
                                                "__UINT64_MAX__=18446744073709551615ul",
                                                "__INT_MAX__=2147483647",
                                                "__CHAR_BIT__=8",
                                                "__SIZEOF_FLOAT__=4",
                                                "__FLT_MAX__=3.402823466e+38f",
                                                "__FLT_MIN__=1.175494351e-38f",
                                                "__FLT_EPSILON__=1.192092896e-07f",
                                                "KYMO=1",
                                                "__extension__=",
                                                "METAL_FUNC=inline __attribute__((always_inline))"};
    for (const std::string_view option : kPredefined) define(option);
  }

  // "NAME", "NAME=VALUE", "NAME(A, B)=VALUE"
  void define(std::string_view option) {
    const auto reject = [&](std::string_view why) {
      diagnostics_.error({}, base::format("cannot define \"{}\": {}", option, why));
    };
    const size_t equals = std::min(option.find('='), option.size());
    const std::string_view signature = option.substr(0, equals);
    if (!is_macro_signature(signature)) return reject("write NAME, NAME=VALUE or NAME(A, B)=VALUE");
    const std::string_view value = equals == option.size() ? "1" : option.substr(equals + 1);
    std::string& text = texts_.emplace_back(base::format("{} {}", signature, value));
    std::ranges::replace(text, '\n', ' ');
    const SourceFiles no_files;
    Diagnostics found(no_files);
    Lexer line(text, 0, texts_, found);
    try {
      Macro macro = read_macro(line, {});
      macro.at = {};
      const Macro* const known = macros_.find(macro.name);
      if (known != nullptr && known->kind != MacroKind::Defined) return reject("it has a meaning of its own");
      macros_.add(std::move(macro));
    } catch (const Rejected& rejected) {
      found.report(rejected);
    }
    if (found.has_errors()) reject(found.list().front().text);
  }

  // Throws Rejected if the text is too long.
  void open(std::string name, std::string_view text) {
    if (text.size() > kLongestSource) {
      throw Rejected{{}, base::format("{} has {} bytes; a source may have {}", name, text.size(), kLongestSource)};
    }
    if (const std::string_view refusal = refusal_of(text); !refusal.empty())
      throw Rejected{{}, base::format("{} {}", name, refusal)};
    const uint32_t file = files_.add(std::move(name), text);
    open_.push_back({Lexer(files_.text(file), file, texts_, diagnostics_), conditionals_.size()});
  }

  Token next() override {
    for (;;) {
      Token token = lexer().next();
      if (token.kind == TokenKind::End) {
        const bool is_last = open_.size() == 1;
        close_file();
        if (is_last) return token;
      } else if (token.line_start && token.is("#")) {
        do_directive();
        if (diagnostics_.is_full()) {
          token.kind = TokenKind::End;  // enough is wrong
          return token;
        }
        if (unroll_ == kNoUnrollWish) continue;
        token.kind = TokenKind::Pragma;
        token.unroll = std::exchange(unroll_, kNoUnrollWish);
        return token;
      } else {
        return token;
      }
    }
  }

  Expander& expander() { return expander_; }

 private:
  // An #if whose group is being read.
  struct Conditional {
    Location at;
    bool was_taken = false;  // one of its groups was read, or is being read
    bool had_else = false;
  };

  struct OpenFile {
    Lexer lexer;
    size_t conditionals;  // number of open conditionals when it began
  };

  void do_directive() {
    const size_t file = open_.size() - 1;
    Token name;
    if (!lexer().next_in_line(name)) return;
    try {
      if (!do_conditional(name)) do_other(name);
    } catch (const Rejected& rejected) {
      diagnostics_.report(rejected);
      open_[file].lexer.rest_of_line();
    }
  }

  void do_other(const Token& name) {
    const std::string_view text = name.text;
    if (text == "define") return do_define(name);
    if (text == "undef") return do_undef(name);
    if (text == "include" || text == "import") return do_include(name);
    const std::string_view rest = lexer().rest_of_line();
    if (text == "pragma" && rest == "once") once_.insert(std::string(files_.name(name.at.file)));
    if (text == "pragma") unroll_ = unroll_wish(rest);
    if (text == "line") return do_line(name, rest);
    if (name.kind == TokenKind::Integer) return do_line(name, base::format("{} {}", text, rest));
    if (text == "pragma") return;
    if (text == "error") throw Rejected{name.at, base::format("#error {}", rest)};
    if (text == "warning") return diagnostics_.warning(name.at, base::format("#warning {}", rest));
    throw Rejected{name.at, base::format("there is no directive \"#{}\"", text)};
  }

  // `#line 12` or `#line 12 "name"`. Another form, such as a macro, changes nothing.
  void do_line(const Token& name, std::string_view rest) {
    uint32_t line = 0;
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
    if (fault != std::errc()) return;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const size_t open = std::min(rest.find('"'), rest.size());
    const size_t close = rest.find('"', open + 1);
    const bool has_name = close != std::string_view::npos;
    files_.renumber(name.at.file, name.at.line, line, has_name ? rest.substr(open + 1, close - open - 1) : "");
  }

  void do_define(const Token& name) {
    Macro macro = read_macro(lexer(), name.at);
    if (const Macro* const known = macros_.find(macro.name); known != nullptr) {
      if (known->kind != MacroKind::Defined) {
        throw Rejected{macro.at, base::format("\"{}\" has a meaning of its own, and cannot be defined", macro.name)};
      }
      if (same_definition(macro, *known)) return;
      diagnostics_.warning(macro.at, base::format("macro \"{}\" is defined again, and differently", macro.name));
      if (known->at.line != 0) diagnostics_.note(known->at, "it was defined here");
    }
    macros_.add(std::move(macro));
  }

  void do_undef(const Token& name) {
    const Token macro = macro_name(name);
    const Macro* const known = macros_.find(macro.text);
    if (known != nullptr && known->kind != MacroKind::Defined) {
      throw Rejected{macro.at, base::format("\"{}\" has a meaning of its own, which stays", macro.text)};
    }
    macros_.remove(macro.text);
    end_line(name);
  }

  void do_include(const Token& name) {
    const std::vector<MacroToken> line = rest_of_line();
    std::optional<std::string> header = header_name(line, expander_);
    if (!header) throw Rejected{name.at, base::format("#{} must be followed by a \"name\" or a <name>", name.text)};
    auto found = find_header(*header);
    if (!found) throw Rejected{line.front().at, no_header(*header)};
    if (open_.size() >= kMaxOpenFiles) {
      throw Rejected{
          line.front().at,
          base::format("headers include each other deeper than {}; write #pragma once in them", kMaxOpenFiles)};
    }
    if (once_.contains(found->name) || found->text.empty()) return;
    if (found->is_builtin) once_.insert(found->name);
    if (++headers_read_ > kMaxHeaders)
      throw Rejected{line.front().at,
                     base::format("more than {} headers are included; write #pragma once in them", kMaxHeaders)};
    open(std::move(found->name), found->text);
  }

  void close_file() {
    end_open_conditionals(open_.back().conditionals);
    if (open_.size() > 1) open_.pop_back();
  }

  // #if and its kin: which groups of lines are read. False: it is another directive.
  bool do_conditional(const Token& name) {
    if (begins_conditional(name.text)) {
      begin_conditional(name);
    } else if (is_alternative(name.text)) {
      if (!begin_alternative(name)) skip_group();
    } else if (name.text == "endif") {
      end_conditional(name);
    } else {
      return false;
    }
    return true;
  }

  void begin_conditional(const Token& name) {
    if (conditionals_.size() >= kMaxConditionals) {
      throw Overrun{{name.at, base::format("#{} nests deeper than {}", name.text, kMaxConditionals)}};
    }
    conditionals_.push_back({name.at, false, false});
    const bool taken = is_met(name);
    conditionals_.back().was_taken = taken;
    if (!taken) skip_group();
  }

  // #else, #elif, …: whether its group is read
  bool begin_alternative(const Token& name) {
    if (conditionals_.size() == open_.back().conditionals) {
      throw Rejected{name.at, base::format("#{} has no #if before it", name.text)};
    }
    Conditional& conditional = conditionals_.back();
    if (conditional.had_else) {
      diagnostics_.error(name.at, base::format("#{} follows the #else of its #if", name.text));
      diagnostics_.note(conditional.at, "the #if is here");
      return false;
    }
    conditional.had_else = name.text == "else";
    if (conditional.was_taken) return false;
    if (conditional.had_else) end_line(name);
    conditional.was_taken = conditional.had_else || is_met(name);
    return conditional.was_taken;
  }

  void end_conditional(const Token& name) {
    if (conditionals_.size() == open_.back().conditionals) throw Rejected{name.at, "#endif has no #if before it"};
    conditionals_.pop_back();
    end_line(name);
  }

  // #if, #ifdef, #elif, …
  bool is_met(const Token& name) {
    try {
      if (name.text == "if" || name.text == "elif") {
        const HasHeader has_header = [this](std::string_view header) { return find_header(header).has_value(); };
        return evaluate_condition(rest_of_line(), name.at, expander_, macros_, has_header);
      }
      const bool is_defined = macros_.find(macro_name(name).text) != nullptr;
      end_line(name);
      return is_defined == !name.text.ends_with("ndef");
    } catch (const Rejected& rejected) {
      diagnostics_.report(rejected);
      lexer().rest_of_line();
      return false;
    }
  }

  // Skipped text is not checked, but its #if and #endif are counted.
  void skip_group() {
    size_t inner = 0;
    lexer().mute(true);
    for (;;) {
      const Token sharp = lexer().next();
      if (sharp.kind == TokenKind::End) break;
      Token name;
      if (!sharp.line_start || !sharp.is("#") || !lexer().next_in_line(name)) continue;
      if (begins_conditional(name.text)) {
        ++inner;
      } else if (inner > 0) {
        if (name.text == "endif") --inner;
      } else if (name.text == "endif") {
        lexer().mute(false);
        return end_conditional(name);
      } else if (is_alternative(name.text)) {
        lexer().mute(false);
        if (begin_alternative(name)) return;
        lexer().mute(true);
      }
    }
    lexer().mute(false);
  }

  void end_open_conditionals(size_t expected) {
    for (; conditionals_.size() > expected; conditionals_.pop_back()) {
      diagnostics_.error(conditionals_.back().at, "this #if does not end: #endif is missing");
    }
  }

  Token macro_name(const Token& directive) {
    Token token;
    if (!lexer().next_in_line(token)) {
      throw Rejected{directive.at, base::format("#{} must be followed by the name of a macro", directive.text)};
    }
    if (token.kind == TokenKind::Identifier) return token;
    throw Rejected{token.at, base::format("\"{}\" cannot be the name of a macro", token.text)};
  }

  std::vector<MacroToken> rest_of_line() {
    std::vector<MacroToken> tokens;
    for (MacroToken token; lexer().next_in_line(token);) tokens.push_back(token);
    return tokens;
  }

  void end_line(const Token& directive) {
    const Location at = lexer().here();
    if (lexer().rest_of_line().empty()) return;
    diagnostics_.warning(at, base::format("what follows #{} is ignored", directive.text));
  }

  struct FoundHeader {
    std::string name;
    std::string_view text;
    bool is_builtin = false;
  };

  std::optional<FoundHeader> find_header(std::string_view name) {
    if (const auto found = input_.headers.find(name); found != input_.headers.end())
      return FoundHeader{std::string(name), found->second};
    if (input_.include) {
      if (std::optional<IncludedFile> file = input_.include(name, files_.name(lexer().here().file)))
        return FoundHeader{std::move(file->name), texts_.emplace_back(std::move(file->text))};
    }
    const auto builtin = builtin_header(name);
    if (!builtin) return std::nullopt;
    return FoundHeader{std::string(name), *builtin, true};
  }

  // The headers of c10/metal are many. They are listed for those who look for one of them.
  std::string no_header(std::string_view name) const {
    if (name.starts_with("MetalPerformancePrimitives/"))
      return base::format(
          "\"{}\" is not supported: its tensor operations are those of Apple's driver; use "
          "simdgroup_matrix instead",
          name);
    constexpr size_t kMaxNamed = 20;
    constexpr std::string_view kTorch = "c10/metal/";
    std::vector<std::string_view> names;
    for (const auto& [given, text] : input_.headers) names.push_back(given);
    if (!name.starts_with(kTorch)) names.push_back("c10/metal/*.h");
    for (const std::string_view builtin : builtin_header_names())
      if (!builtin.starts_with(kTorch) || name.starts_with(kTorch)) names.push_back(builtin);
    const size_t shown = std::min(names.size(), kMaxNamed);
    return base::format("there is no header \"{}\"; there are {}{}, and metal_stdlib with its parts", name,
                        base::join(std::span(names).first(shown), ", "), shown < names.size() ? ", ..." : "");
  }

  Lexer& lexer() { return open_.back().lexer; }

  SourceFiles& files_;
  const PreprocessorInput& input_;
  std::deque<std::string>& texts_;
  Diagnostics& diagnostics_;
  MacroTable macros_;
  Expander expander_;
  std::vector<OpenFile> open_;  // the outermost first
  std::vector<Conditional> conditionals_;
  std::unordered_set<std::string> once_;  // headers that are not read again
  size_t headers_read_ = 0;
  uint16_t unroll_ = kNoUnrollWish;  // of the directive that was just read
};

// A number may be put together by macros, so only now it must be one.
void settle_number(Token& token, Diagnostics& diagnostics) {
  NumberSpelling spelling = spelling_of_number(token.text);
  token.kind = spelling.kind;
  if (spelling.fault.empty()) return;
  diagnostics.error(token.at, std::move(spelling.fault));
  token.text = spelling.kind == TokenKind::Integer ? "0" : "0.0";
}

// The rest of _Pragma("unroll"), whose text may come from macros.
uint16_t read_pragma(Expander& expander, Location at) {
  MacroToken open, text, close;
  const bool is_complete = expander.next(open) && open.is("(") && expander.next(text) &&
                           text.kind == TokenKind::String && expander.next(close) && close.is(")");
  if (!is_complete) throw Rejected{at, "_Pragma needs a text in parentheses, such as _Pragma(\"unroll\")"};
  return unroll_wish(text.text.substr(1, text.text.size() - 2));
}

}  // namespace

std::vector<Token> Preprocessor::run(const PreprocessorInput& input) {
  constexpr size_t kBytesPerToken = 3, kMaxReserved = size_t{1} << 16;
  std::vector<Token> tokens;
  tokens.reserve(std::min(input.text.size() / kBytesPerToken, kMaxReserved));
  SourceReader reader(files_, input, texts_, diagnostics_);
  MacroToken token;
  uint16_t unroll = kNoUnrollWish;  // of a pragma directly before the next token
  try {
    for (const std::string& option : input.defines) reader.define(option);
    reader.open(input.file, input.text);
    Expander& expander = reader.expander();
    while (expander.next(token) && token.kind != TokenKind::End && !diagnostics_.is_full()) {
      if (token.kind == TokenKind::Pragma || token.is_name("_Pragma")) {
        unroll = token.kind == TokenKind::Pragma ? token.unroll : read_pragma(expander, token.at);
        continue;
      }
      token.unroll = std::exchange(unroll, kNoUnrollWish);
      if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float) settle_number(token, diagnostics_);
      spell_operator(token);
      tokens.push_back(token);
    }
  } catch (const Overrun& overrun) {
    diagnostics_.report(overrun.why);
  } catch (const Rejected& rejected) {
    diagnostics_.report(rejected);
  }
  Token end;
  end.at = token.at;
  end.line_start = true;
  tokens.push_back(end);
  return tokens;
}

}  // namespace kymo::shader
