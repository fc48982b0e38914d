// Chooses the best of several functions for a call.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/builtin_functions.h"
#include "shader/sema/overloads/overloads.h"
#include "shader/sema/same.h"

namespace kymo::shader {

struct Overloads::Candidate {
  const Symbol* symbol = nullptr;
  const Signature* types = nullptr;
  std::vector<Rank> ranks;  // of the object, then of each argument
};

namespace {

constexpr size_t kMaxCandidateNotes = 6;

std::string overload_spelled(std::span<const Value> arguments) {
  std::string text;
  for (const Value& argument : arguments) {
    if (!text.empty()) text += ", ";
    if (argument.braces != nullptr)
      text += "{...}";
    else if (argument.is_null || argument.type == nullptr)
      text += "nullptr";
    else
      text +=
          (argument.is_place && argument.space != Space::Thread ? std::string(space_name(argument.space)) + " " : "") +
          TypeTable::name(argument.type);
  }
  return text;
}

std::string_view overload_name(const Symbol& symbol) {
  return symbol.name == kConstructorName ? symbol.owner->scope->name : symbol.declaration->name;
}

enum class Order { Better, Worse, Neither };

Order overload_order(std::span<const Rank> a, std::span<const Rank> b) {
  bool is_better = false, is_worse = false;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    is_better = is_better || a[i] < b[i];
    is_worse = is_worse || b[i] < a[i];
  }
  if (is_better == is_worse) return Order::Neither;
  return is_better ? Order::Better : Order::Worse;
}

bool overload_same_parameters(const Signature& a, const Signature& b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                    [](const Parameter& x, const Parameter& y) { return x.type.type == y.type.type; });
}

bool overload_is_inside(const Scope* inner, const Scope* outer) {
  if (inner == nullptr || outer == nullptr || outer->kind != Scope::Kind::Namespace) return false;
  for (const Scope* scope = inner->parent; scope != nullptr; scope = scope->parent)
    if (scope == outer) return true;
  return false;
}

// Whether the builtin of this name is a function, and no template, with exactly these parameters: max(float, float).
bool has_exact_builtin(const OverloadSet& set, std::span<const Value> arguments) {
  if (set.has_arguments || arguments.empty()) return false;
  const Type* type = arguments[0].type;
  for (const Value& each : arguments)
    if (each.type != type) return false;
  switch (builtin_row(set.name)->kind) {
    case BuiltinKind::MinMax:
      return true;
    case BuiltinKind::Float:
    case BuiltinKind::FloatOrLibrary:
      return type->scalar()->is_floating();
    default:
      return false;
  }
}

}  // namespace

Rank Overloads::object_rank(const Symbol& function, const std::optional<Value>& object) const {
  const ast::Declaration& declaration = *function.declaration;
  if (function.owner == nullptr || declaration.is_static) return Rank::Exact;
  if (function.name == kConstructorName)  // a new object is in thread memory; a constructor for others is as good
    return declaration.this_space.value_or(Space::Thread) == Space::Thread ? Rank::Exact : Rank::Splat;
  if (!object) return Rank::Impossible;
  const bool is_const = function.owner->is_closure
                            ? function.owner->lambda == nullptr || !function.owner->lambda->is_mutable
                            : declaration.is_const;
  if (object->is_const && !is_const) return Rank::Impossible;
  Rank rank = is_const && !object->is_const ? Rank::Qualification : Rank::Exact;
  const Space space = object->space;
  if (!declaration.this_space) return space == Space::Thread ? rank : std::max(rank, Rank::Splat);
  if (object->is_constant) {
    if (*declaration.this_space == Space::Constant) return rank;
    return *declaration.this_space == Space::Thread ? std::max(rank, Rank::Promotion) : Rank::Impossible;
  }
  if (*declaration.this_space == space) return rank;
  const bool is_constant = space == Space::Program || (space == Space::Thread && object->is_const);
  return *declaration.this_space == Space::Constant && is_constant ? std::max(rank, Rank::Promotion) : Rank::Impossible;
}

std::optional<Overloads::Candidate> Overloads::viable(const Symbol& symbol, const OverloadSet& set,
                                                      std::span<const Value> arguments, std::string* why) {
  const auto no = [&]<typename... Values>(base::FormatString<const Values&...> text, const Values&... values) {
    if (why != nullptr) *why = base::format(text, values...);
    return std::nullopt;
  };
  const ast::Declaration& declaration = *symbol.declaration;
  if (declaration.is_deleted) return no("it is deleted");
  const bool is_open = !declaration.parameters.empty() && declaration.parameters.back()->is_variadic;
  if (arguments.size() > declaration.parameters.size() && !is_open)
    return no("it takes {} arguments, not {}", declaration.parameters.size(), arguments.size());
  if (set.has_arguments && !declaration.is_template) return no("it is not a template");

  Candidate made;
  made.symbol = &symbol;
  const Rank of_object = object_rank(symbol, set.object);
  if (of_object == Rank::Impossible)
    return set.object ? no("the object is {}{}", space_name(set.object->space), set.object->is_const ? " const" : "")
                      : no("it is a member: it needs an object");
  TemplateArguments template_arguments;
  if (declaration.is_template) {
    try {
      if (!templates_.deduce(declaration, *symbol.scope, set.arguments, arguments, template_arguments))
        return no("{}", templates_.conflict().empty() ? "its parameters do not fit the arguments' types"
                                                      : templates_.conflict());
    } catch (const Rejected& rejected) {
      return no("{}", rejected.text);
    }
  }
  made.types = &signature(symbol, template_arguments);
  if (made.types->fault) return no("{}", made.types->fault->text);
  const std::vector<Parameter>& parameters = made.types->parameters;
  if (arguments.size() > parameters.size())
    return no("it takes {} arguments, not {}", parameters.size(), arguments.size());
  for (size_t i = arguments.size(); i < parameters.size(); ++i)
    if (parameters[i].declaration->initializer == nullptr)
      return no("it takes {} arguments, not {}", parameters.size(), arguments.size());
  made.ranks.reserve(arguments.size() + 1);
  made.ranks.push_back(of_object);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Rank rank_of = rank(arguments[i], parameters[i].type);
    if (rank_of == Rank::Impossible && why == nullptr) return std::nullopt;
    if (rank_of == Rank::Impossible)
      return no("argument {} cannot be converted from {} to {}", i + 1,
                in_quotes(overload_spelled(arguments.subspan(i, 1))),
                parameters[i].type.type == nullptr ? std::string("a pointer to a function")
                                                   : in_quotes(parameters[i].type.type));
    made.ranks.push_back(rank_of);
  }
  return made;
}

std::optional<Chosen> Overloads::choose_best(OverloadSet& set, std::span<const Value> arguments,
                                             std::vector<Report>* notes, bool gives_way) {
  std::vector<Candidate> fitting;
  const bool is_builtin_name = is_builtin(set.name);
  // For numbers, a builtin is as good as a function with exactly these parameters.
  gives_way = gives_way && is_builtin_name && set.allows_builtin && !set.object &&
              std::all_of(arguments.begin(), arguments.end(),
                          [](const Value& each) { return each.type != nullptr && each.type->is_number(); });
  const bool has_exact = gives_way && set.is_used && has_exact_builtin(set, arguments);
  for (const Symbol* symbol : set.candidates) {
    if (symbol->kind != Symbol::Kind::Function) continue;
    if (has_exact && symbol->declaration->is_template) continue;
    // The library only declares the builtins.
    if (is_builtin_name && symbol->declaration->body == nullptr && symbol->owner == nullptr) continue;
    std::string why;
    std::optional<Candidate> candidate = viable(*symbol, set, arguments, notes != nullptr ? &why : nullptr);
    if (candidate && gives_way &&
        *std::max_element(candidate->ranks.begin(), candidate->ranks.end()) > Rank::Qualification)
      continue;
    if (candidate)
      fitting.push_back(std::move(*candidate));
    else if (notes != nullptr && notes->size() < kMaxCandidateNotes)
      notes->push_back({Severity::Note, symbol->declaration->at, "not this one: " + why});
  }
  if (fitting.empty()) return std::nullopt;

  const auto order = [&](const Candidate& a, const Candidate& b) {
    const Order by_rank = overload_order(a.ranks, b.ranks);
    if (by_rank != Order::Neither || a.ranks != b.ranks) return by_rank;
    const ast::Declaration& x = *a.symbol->declaration;
    const ast::Declaration& y = *b.symbol->declaration;
    if (x.is_template != y.is_template) return x.is_template ? Order::Worse : Order::Better;
    if (x.is_template) {
      const size_t count = std::max<size_t>(arguments.size(), 1);
      const bool is_more = fits_template(x, y, count);
      const bool is_less = fits_template(y, x, count);
      if (is_more != is_less) return is_more ? Order::Better : Order::Worse;
      const bool x_open = !x.parameters.empty() && x.parameters.back()->is_variadic;
      const bool y_open = !y.parameters.empty() && y.parameters.back()->is_variadic;
      if (x_open != y_open) return x_open ? Order::Worse : Order::Better;
    }
    if (!overload_same_parameters(*a.types, *b.types)) return Order::Neither;
    if ((x.body != nullptr) != (y.body != nullptr)) return x.body != nullptr ? Order::Better : Order::Worse;
    // metal::precise has the functions of metal too: its own are nearer.
    if (overload_is_inside(a.symbol->scope, b.symbol->scope)) return Order::Better;
    if (overload_is_inside(b.symbol->scope, a.symbol->scope)) return Order::Worse;
    return Order::Neither;
  };
  const Candidate* best = &fitting[0];
  for (const Candidate& candidate : fitting)
    if (&candidate != best && order(candidate, *best) == Order::Better) best = &candidate;
  for (const Candidate& candidate : fitting) {
    if (&candidate == best || order(*best, candidate) == Order::Better) continue;
    throw Rejected{set.at,
                   base::format("several functions \"{}\" fit ({}) equally well: convert an argument to choose one",
                                overload_name(*best->symbol), overload_spelled(arguments)),
                   {{Severity::Note, best->symbol->declaration->at, "this one"},
                    {Severity::Note, candidate.symbol->declaration->at, "and this one"}}};
  }
  Chosen chosen;
  const Value* object = set.object ? &*set.object : nullptr;
  chosen.instance = &instance(*best->symbol, best->types->arguments, arguments, object, set.at);
  for (size_t i = arguments.size(); i < best->types->parameters.size(); ++i)
    chosen.defaults.push_back(best->types->parameters[i].declaration);
  return chosen;
}

std::optional<Chosen> Overloads::try_choose(OverloadSet& set, std::span<const Value> arguments) {
  return choose_best(set, arguments, nullptr, true);
}

Chosen Overloads::choose(OverloadSet& set, std::span<const Value> arguments) {
  if (std::optional<Chosen> chosen = choose_best(set, arguments, nullptr, false)) return *chosen;
  std::vector<Report> notes;
  choose_best(set, arguments, &notes, false);
  const std::string name(set.name == kConstructorName && !set.candidates.empty() ? overload_name(*set.candidates[0])
                                                                                 : set.name);
  if (notes.empty()) throw Rejected{set.at, base::format("there is no function \"{}\" here", name)};
  throw Rejected{set.at, base::format("no function \"{}\" takes ({})", name, overload_spelled(arguments)),
                 std::move(notes)};
}

}  // namespace kymo::shader
