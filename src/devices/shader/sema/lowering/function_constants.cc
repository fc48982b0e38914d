// Function constants: `constant int n [[function_constant(0)]]`. Their values are options of the translation, by name
// or by index. A vector has one for each component: "v.x", "v.y".

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

constexpr std::string_view kFunctionConstant = "function_constant";
constexpr size_t kMaxNames = 12;  // in a warning
constexpr double kMaxFloat = 0x1.FFFFFEp127, kMaxHalf = 65504, kMaxBFloat = 0x1.FEp127;

// What comes after the name in the options: one text for each number of the value.
std::vector<std::string_view> suffixes_of(const Type* type) {
  if (!type->is_vector()) return {""};
  constexpr std::string_view kComponents[] = {".x", ".y", ".z", ".w"};
  return {kComponents, kComponents + type->count};
}

bool can_hold(const Type* scalar, double value) {
  if (scalar->is_floating() && !std::isfinite(value)) return true;  // infinity and NaN
  switch (scalar->kind) {
    case TypeKind::Bool:
      return value == 0 || value == 1;
    case TypeKind::Half:
      return std::abs(value) <= kMaxHalf;
    case TypeKind::BFloat:
      return std::abs(value) <= kMaxBFloat;
    case TypeKind::Float:
      return std::abs(value) <= kMaxFloat;
    default:
      break;
  }
  const bool is_large = value >= 0x1p63;
  const bool is_whole = value >= -0x1p63 && value < 0x1p64 && std::trunc(value) == value;
  return is_whole &&
         fits(scalar, is_large ? static_cast<int64_t>(static_cast<uint64_t>(value)) : static_cast<int64_t>(value),
              is_large);
}

const ir::Expression* constant_of(ir::Builder& make, const Type* scalar, double value) {
  if (scalar->is(TypeKind::Bool)) return make.constant_bool(value != 0);
  if (scalar->is_floating()) return make.constant_float(static_cast<float>(value), scalar->kind);
  if (value >= 0x1p63) return make.constant_uint(static_cast<uint64_t>(value), scalar->kind);
  return make.constant_int(static_cast<int64_t>(value), scalar->kind);
}

}  // namespace

std::optional<Value> Lowering::function_constant(const ast::Declaration& declaration, Scope& scope, Location at) {
  if (declaration.attribute(kFunctionConstant) == nullptr) return std::nullopt;
  const Type* type = types_.resolve_plain(*declaration.type, scope);
  if (!type->is_number()) {
    throw Rejected{declaration.at, "the function constant " + in_quotes(declaration.name) +
                                       " must be a number or a vector, and is " + in_quotes(type)};
  }
  ir::Builder& make = build(at);
  std::vector<const ir::Expression*> numbers;
  bool is_given = false;
  for (const std::string_view part : suffixes_of(type)) {
    const std::optional<double> given = given_number(declaration, scope, part);
    is_given = is_given || given;
    // What does not fit was reported by check_given_constant().
    const double value = given && can_hold(type->scalar(), *given) ? *given : 0;
    numbers.push_back(constant_of(make, type->scalar(), value));
  }
  if (!is_given && !body_.is_unevaluated) unset_constants_.insert(&declaration);
  Value value = rvalue(!is_given ? make.zero(type) : type->is_vector() ? make.construct(type, numbers) : numbers[0]);
  value.is_const = true;
  return value;
}

std::optional<double> Lowering::given_number(const ast::Declaration& declaration, Scope& scope, std::string_view part) {
  if (options_.constants.empty()) return std::nullopt;
  auto found = options_.constants.find(base::format("{}{}", declaration.name, part));
  if (found == options_.constants.end())
    found = options_.constants.find(base::format("{}{}", function_constant_index(declaration, scope), part));
  if (found == options_.constants.end()) return std::nullopt;
  return found->second;
}

// As a text; empty: it has none.
std::string Lowering::function_constant_index(const ast::Declaration& declaration, Scope& scope) {
  const ast::Attribute* attribute = declaration.attribute(kFunctionConstant);
  if (attribute == nullptr || attribute->arguments.empty()) return "";
  return std::to_string(constant_integer(*attribute->arguments[0], scope, "the index of a function constant"));
}

void Lowering::check_constant_indices() {
  std::map<std::string, const ast::Declaration*> by_index;
  for (const PlacedDeclaration& placed : lookup_.declared().variables) {
    const std::string index = function_constant_index(*placed.declaration, *placed.scope);
    if (index.empty()) continue;
    const auto [known, is_new] = by_index.emplace(index, placed.declaration);
    if (!is_new)
      diagnostics_.error(placed.declaration->at,
                         base::format("the function constants {} and {} have the same index {}",
                                      in_quotes(known->second->name), in_quotes(placed.declaration->name), index));
  }
}

// A value that no function constant takes is a mistake: a wrong name, or a constant that the source no longer has.
void Lowering::check_given_constants() {
  if (options_.constants.empty()) return;
  std::map<std::string, const Type*, std::less<>> known;  // by name and by index
  std::vector<std::string> names;
  for (const PlacedDeclaration& placed : lookup_.declared().variables) {
    const ast::Declaration& declaration = *placed.declaration;
    if (declaration.attribute(kFunctionConstant) == nullptr) continue;
    const Type* type = types_.resolve_plain(*declaration.type, *placed.scope);
    const std::string index = function_constant_index(declaration, *placed.scope);
    known.emplace(declaration.name, type);
    if (!index.empty()) known.emplace(index, type);
    names.push_back(index.empty() ? std::string(declaration.name) : base::format("{} ({})", declaration.name, index));
    if (type->is_number()) check_given_constant(declaration, type, *placed.scope);
  }
  for (const auto& [key, value] : options_.constants) {
    const std::string_view name = std::string_view(key).substr(0, key.find('.'));
    const auto found = known.find(name);
    const Location at = {.file = context_.user_file};
    if (found == known.end()) {
      diagnostics_.error(at, base::format("the source has no function constant {}; {}", in_quotes(key),
                                          names.empty() ? "it has none at all"
                                                        : "it has (with the index): " + base::join(names, ", ")));
      continue;
    }
    const std::vector<std::string_view> parts = suffixes_of(found->second);
    if (std::ranges::find(parts, std::string_view(key).substr(name.size())) != parts.end()) continue;
    diagnostics_.error(at, base::format("the function constant {} is {}, and takes {}, not {}", in_quotes(name),
                                        in_quotes(found->second),
                                        parts.size() == 1 ? "one number"
                                                          : base::format("{} numbers, {}{} to {}{}", parts.size(), name,
                                                                         parts.front(), name, parts.back()),
                                        in_quotes(key)));
  }
}

// Also if nothing uses the constant.
void Lowering::check_given_constant(const ast::Declaration& declaration, const Type* type, Scope& scope) {
  const std::string index = function_constant_index(declaration, scope);
  std::vector<std::string> given, missing;
  for (const std::string_view part : suffixes_of(type)) {
    const std::string name = base::format("{}{}", declaration.name, part);
    const bool is_twice = options_.constants.contains(name) && options_.constants.contains(index + std::string(part));
    const std::optional<double> value = given_number(declaration, scope, part);
    (value ? given : missing).push_back(name);
    if (is_twice)
      diagnostics_.error(
          declaration.at,
          base::format("the function constant {} has two values: {} by its name, and {} by its index {}",
                       in_quotes(name), *value, options_.constants.find(index + std::string(part))->second, index));
    if (value && !can_hold(type->scalar(), *value))
      diagnostics_.error(declaration.at, base::format("the function constant {} is {}, and cannot be {}",
                                                      in_quotes(name), in_quotes(type->scalar()), *value));
  }
  if (!given.empty() && !missing.empty())
    diagnostics_.error(declaration.at,
                       base::format("the function constant {} is {}, and was given no value for {}",
                                    in_quotes(declaration.name), in_quotes(type), base::join(missing, ", ")));
}

// One warning: real sources have dozens of them.
void Lowering::warn_about_unset_constants() {
  if (unset_constants_.empty()) return;
  std::vector<const ast::Declaration*> unset(unset_constants_.begin(), unset_constants_.end());
  std::ranges::sort(unset, {}, [](const ast::Declaration* each) {
    return std::tuple(each->at.file, each->at.line, each->at.column);
  });
  std::vector<std::string> names;
  for (const ast::Declaration* each : unset) {
    if (names.size() == kMaxNames) break;
    names.push_back(in_quotes(each->name));
  }
  const bool is_one = unset.size() == 1;
  const size_t more = unset.size() - names.size();
  diagnostics_.warning(
      {.file = context_.user_file},
      base::format("the function constant{} {}{} {} no value, and {} 0 here: set {} by name or index with -C "
                   "(kymo shader) or constants (compile_shader)",
                   is_one ? "" : "s", base::join(names, ", "), more == 0 ? "" : base::format(" and {} more", more),
                   is_one ? "has" : "have", is_one ? "is" : "are", is_one ? "it" : "them"));
}

Value Lowering::function_constant_defined(const ast::Expression& call, Scope& scope) {
  const ast::Expression* argument = call.operands.size() == 2 ? call.operands[1] : nullptr;
  if (argument != nullptr && argument->kind == ast::ExpressionKind::Name) {
    for (const Symbol* symbol : lookup_.find(argument->name, scope, argument->at)) {
      if (symbol->kind != Symbol::Kind::Variable || symbol->declaration->attribute(kFunctionConstant) == nullptr)
        continue;
      const Type* type = types_.resolve_plain(*symbol->declaration->type, *symbol->scope);
      const std::string_view first = suffixes_of(type).front();
      return rvalue(
          build(call.at).constant_bool(given_number(*symbol->declaration, *symbol->scope, first).has_value()));
    }
  }
  throw Rejected{call.at, "is_function_constant_defined takes one function constant, by its name"};
}

}  // namespace kymo::shader
