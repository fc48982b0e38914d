#include "shader/emit/names.h"

#include <algorithm>
#include <array>

namespace kymo::shader {
namespace {

constexpr std::string_view kNamesOperator = "operator";
constexpr std::string_view kNamesOfPrelude = "kymo_";
constexpr std::array<std::pair<char, std::string_view>, 16> kNamesOperatorWords = {{
    {'+', "plus"},
    {'-', "minus"},
    {'*', "times"},
    {'/', "over"},
    {'%', "modulo"},
    {'<', "less"},
    {'>', "greater"},
    {'=', "equal"},
    {'!', "not"},
    {'&', "and"},
    {'|', "or"},
    {'^', "xor"},
    {'~', "complement"},
    {'(', "call"},
    {'[', "index"},
    {',', "comma"},
}};

bool names_is_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string_view names_operator_word(char c) {
  for (const auto& [sign, word] : kNamesOperatorWords)
    if (sign == c) return word;
  return {};
}

// Whether signs that follow here are an operator's, not those of template arguments.
bool names_ends_with_operator(std::string_view text) {
  if (!text.ends_with(kNamesOperator)) return false;
  return text.size() == kNamesOperator.size() || !names_is_character(text[text.size() - kNamesOperator.size() - 1]);
}

void names_append(std::string& text, std::string_view part) {
  if (!text.empty() && text.back() != '_') text += '_';
  text += part;
}

}  // namespace

Reserved read_reserved(std::string_view file) {
  Reserved reserved;
  Words* list = &reserved.everywhere;
  for (size_t line = 0; line < file.size();) {
    const size_t end = std::min(file.find('\n', line), file.size());
    std::string_view text = file.substr(line, end - line);
    line = end + 1;
    if (text.starts_with("----")) list = &reserved.outermost;
    if (text.starts_with("----") || text.starts_with("//")) continue;
    for (size_t at = 0; at < text.size(); ++at) {
      const size_t blank = std::min(text.find(' ', at), text.size());
      if (blank != at) list->insert(text.substr(at, blank - at));
      at = blank;
    }
  }
  return reserved;
}

void Names::leave() {
  for (const std::string& name : scopes_.back()) {
    const auto found = used_.find(name);
    if (--found->second == 0) used_.erase(found);
  }
  scopes_.pop_back();
}

bool Names::is_free(const std::string& name, bool outermost) const {
  if (used_.contains(name) || reserved_.everywhere.contains(name)) return false;
  return !outermost || !reserved_.outermost.contains(name);
}

std::string Names::take_in(size_t scope, std::string_view wanted) {
  std::string name = legal_name(wanted);
  while (name.starts_with(kNamesOfPrelude)) name = legal_name(std::string_view(name).substr(kNamesOfPrelude.size()));
  if (!is_free(name, scope == 0) && !used_.contains(name) && name.back() != '_') name += '_';
  if (!is_free(name, scope == 0)) {
    const std::string base = name.back() == '_' ? name : name + '_';
    uint32_t& number = next_[base];
    do name = base + std::to_string(++number);
    while (!is_free(name, scope == 0));
  }
  ++used_[name];
  scopes_[scope].push_back(name);
  return name;
}

std::string legal_name(std::string_view wanted) {
  std::string name;
  name.reserve(wanted.size() + 1);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const char c = wanted[i];
    if (names_is_character(c)) {
      name += c;
      continue;
    }
    if (c != '_' && names_ends_with_operator(wanted.substr(0, i))) {
      for (; i < wanted.size() && !names_operator_word(wanted[i]).empty(); ++i)
        names_append(name, names_operator_word(wanted[i]));
      if (i < wanted.size()) --i;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  // An underscore for a sign at the end is dropped; an underscore of the source stays.
  if (!name.empty() && name.back() == '_' && wanted.back() != '_') name.pop_back();
  if (name.empty()) return "unnamed";
  if (name.front() >= '0' && name.front() <= '9') name.insert(0, "n");
  if (name.starts_with("gl_")) name.insert(0, "my_");
  return name;
}

std::string name_part(const Type* type) {
  switch (type->kind) {
    case TypeKind::Array:
      return name_part(type->inner) + '_' + std::to_string(type->count);
    case TypeKind::Pointer:
    case TypeKind::Reference:
      return std::string(space_name(type->space)) + '_' + name_part(type->inner) + "_pointer";
    default:
      return legal_name(TypeTable::name(type));
  }
}

std::unordered_map<const ir::Function*, std::string> name_functions(std::span<const ir::Function* const> functions,
                                                                    Names& names) {
  std::unordered_map<const ir::Function*, std::string> chosen;
  std::unordered_map<std::string, uint32_t> bearers;
  for (const ir::Function* function : functions) {
    if (function->is_kernel)
      chosen[function] = names.take_outermost(function->host_name.empty() ? function->name : function->host_name);
    else
      ++bearers[legal_name(function->name)];
  }
  for (const ir::Function* function : functions) {
    if (function->is_kernel) continue;
    std::string wanted = legal_name(function->name);
    if (bearers[wanted] > 1)
      for (const ir::Variable* parameter : function->parameters) names_append(wanted, name_part(parameter->type));
    chosen[function] = names.take_outermost(wanted);
  }
  return chosen;
}

}  // namespace kymo::shader
