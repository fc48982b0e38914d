#include "shader/preprocess/macros.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kymo::shader {

namespace {

constexpr size_t kMaxParameters = 128;

// Names ( a, b, ... ), from after the parenthesis.
void read_macro_parameters(Lexer& line, Macro& macro) {
  const auto bad = [&](const Location& at) {
    return Rejected{at, base::format("the parameters of macro \"{}\" must be names with commas between them, and \")\" "
                                     "after the last",
                                     macro.name)};
  };
  const auto next = [&] {
    Token token;
    if (!line.next_in_line(token)) throw bad(macro.at);
    return token;
  };
  Token token = next();
  if (token.is(")")) return;
  for (;; token = next()) {
    if (token.is("...")) {
      macro.is_variadic = true;
      macro.parameters.push_back("__VA_ARGS__");
      token = next();
    } else {
      if (token.kind != TokenKind::Identifier) throw bad(token.at);
      if (std::find(macro.parameters.begin(), macro.parameters.end(), token.text) != macro.parameters.end()) {
        throw Rejected{token.at, base::format("macro \"{}\" has two parameters \"{}\"", macro.name, token.text)};
      }
      macro.parameters.push_back(token.text);
      if (macro.parameters.size() > kMaxParameters) {
        throw Rejected{token.at, base::format("macro \"{}\" has more than {} parameters", macro.name, kMaxParameters)};
      }
      token = next();
      if (token.is("...")) {
        macro.is_variadic = true;
        token = next();
      }
    }
    if (token.is(")")) return;
    if (macro.is_variadic || !token.is(",")) throw bad(token.at);
  }
}

// The body's tokens become parts.
class MacroBodyReader {
 public:
  explicit MacroBodyReader(Macro& macro) : macro_(macro), body_(macro.body) {}

  void read() {
    const bool pastes = std::any_of(body_.begin(), body_.end(), [](const Token& t) { return t.is("##"); });
    if (!macro_.is_function && !pastes) {
      for (const Token& token : body_) refuse_variable_names(token);
      return;
    }
    while (at_ < body_.size()) read_part();
    check_pastes(0, macro_.parts.size());
  }

 private:
  using Kind = MacroPart::Kind;

  void add(Kind kind, size_t token, uint32_t parameter = 0) {
    macro_.parts.push_back({kind, false, static_cast<uint32_t>(token), parameter, 0});
  }

  void read_part() {
    const Token& token = body_[at_];
    if (token.is("##")) return add(Kind::Paste, at_++);
    if (macro_.is_function && token.is("#")) return read_stringify();
    if (is_optional(at_)) return read_optional(Kind::Optional, at_);
    const int parameter = parameter_of(token);
    if (parameter < 0) refuse_variable_names(token);
    add(parameter < 0 ? Kind::Text : Kind::Parameter, at_, static_cast<uint32_t>(std::max(parameter, 0)));
    ++at_;
  }

  void read_stringify() {
    const size_t sharp = at_++;
    if (is_optional(at_)) return read_optional(Kind::StringifyOptional, sharp);
    const int parameter = at_ < body_.size() ? parameter_of(body_[at_]) : -1;
    if (parameter < 0) {
      throw Rejected{body_[sharp].at,
                     base::format("# in macro \"{}\" must be followed by one of its parameters", macro_.name)};
    }
    ++at_;
    add(Kind::Stringify, sharp, static_cast<uint32_t>(parameter));
  }

  bool is_optional(size_t at) const {
    return macro_.is_variadic && at < body_.size() && body_[at].is_name("__VA_OPT__");
  }

  void read_optional(Kind kind, size_t token) {
    const Location begin = body_[at_++].at;
    const auto reject = [&](std::string_view why) {
      return Rejected{begin, base::format("__VA_OPT__ in macro \"{}\" {}", macro_.name, why)};
    };
    if (at_ == body_.size() || !body_[at_].is("(")) throw reject("needs its parentheses");
    ++at_;
    const size_t first = macro_.parts.size();
    add(kind, token);
    for (size_t open = 1;;) {
      if (at_ == body_.size()) throw reject("does not end: \")\" is missing");
      if (is_optional(at_)) throw reject("may not be inside another");
      if (body_[at_].is("(")) ++open;
      if (body_[at_].is(")") && --open == 0) break;
      read_part();
    }
    ++at_;
    check_pastes(first + 1, macro_.parts.size());
    macro_.parts[first].end = static_cast<uint32_t>(macro_.parts.size());
  }

  // ## needs something on both sides; parameters beside it are taken as they were given.
  void check_pastes(size_t begin, size_t end) {
    auto& parts = macro_.parts;
    size_t before = begin;
    for (size_t i = begin; i < end;) {
      if (parts[i].kind == Kind::Paste) {
        if (i == begin || i + 1 == end || parts[i + 1].kind == Kind::Paste) {
          throw Rejected{body_[parts[i].token].at,
                         base::format("## in macro \"{}\" needs something on both of its sides", macro_.name)};
        }
        parts[before].is_raw = parts[i + 1].is_raw = true;
      }
      before = i;
      i = std::max<size_t>(i + 1, parts[i].end);  // an optional part counts as one
    }
  }

  int parameter_of(const Token& token) const {
    if (token.kind != TokenKind::Identifier) return -1;
    const auto found = std::find(macro_.parameters.begin(), macro_.parameters.end(), token.text);
    return found == macro_.parameters.end() ? -1 : static_cast<int>(found - macro_.parameters.begin());
  }

  void refuse_variable_names(const Token& token) const {
    if (token.text != "__VA_ARGS__" && token.text != "__VA_OPT__") return;
    throw Rejected{token.at,
                   base::format("{} is allowed only in macros that end their parameters with \"...\"", token.text)};
  }

  Macro& macro_;
  const std::vector<MacroToken>& body_;
  size_t at_ = 0;
};

}  // namespace

void MacroTable::add(Macro macro) {
  Macro& kept = macros_.emplace_back(std::move(macro));
  by_name_.insert_or_assign(kept.name, &kept);
  filter_[static_cast<unsigned char>(kept.name[0])] |= bit_of(kept.name);
}

void MacroTable::remove(std::string_view name) { by_name_.erase(name); }

Macro read_macro(Lexer& line, const Location& directive) {
  Macro macro;
  MacroToken token;
  if (!line.next_in_line(token)) throw Rejected{directive, "#define must be followed by a name"};
  if (token.kind != TokenKind::Identifier || token.text == "defined") {
    throw Rejected{token.at, base::format("\"{}\" cannot be the name of a macro", token.text)};
  }
  macro.name = token.text;
  macro.at = token.at;
  bool more = line.next_in_line(token);
  if (more && token.is("(") && !token.space_before) {
    macro.is_function = true;
    read_macro_parameters(line, macro);
    more = line.next_in_line(token);
  }
  for (; more; more = line.next_in_line(token)) macro.body.push_back(token);
  MacroBodyReader(macro).read();
  return macro;
}

bool same_definition(const Macro& a, const Macro& b) {
  const auto same_token = [&](const MacroToken& x, const MacroToken& y) {
    const bool is_first = &x == a.body.data();
    return x.kind == y.kind && x.text == y.text && (is_first || x.space_before == y.space_before);
  };
  return a.kind == b.kind && a.is_function == b.is_function && a.is_variadic == b.is_variadic &&
         a.parameters == b.parameters &&
         std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(), same_token);
}

}  // namespace kymo::shader
