// Chooses the best of several functions for a call.

#include "shader/sema/overloads.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shader/sema/builtins.h"
#include "shader/sema/lowering/lowering.h"
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
  gives_way =
      gives_way && is_builtin_name && set.allows_builtin && !set.object &&
      std::ranges::all_of(arguments, [](const Value& each) { return each.type != nullptr && each.type->is_number(); });
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

// ---- Ranks ----------------------------------------------------------------------------------------------------------

// The cost of a conversion from an argument to a parameter.

namespace {

constexpr uint32_t kMaxBraces = 3;

Rank rank_scalars(const Type* from, const Type* to) {
  if (from == to) return Rank::Exact;
  if (to->is_enum() || (from->is_enum() && from->is_scoped)) return Rank::Impossible;
  if (from->is_enum() && (to == from->underlying || to->is(TypeKind::Int))) return Rank::Promotion;
  const bool is_small_integer = from->is(TypeKind::Bool) || (from->is_integer() && from->size < 4);
  if (is_small_integer && to->is(TypeKind::Int)) return Rank::Promotion;
  if (from->is_floating() && to->is(TypeKind::Float)) return Rank::Promotion;
  return Rank::Conversion;
}

// Whether memory of one space may be used as memory of another.
bool rank_fits_space(Space from, bool from_const, Space to) {
  if (from == to) return true;
  return to == Space::Constant && (from == Space::Program || (from == Space::Thread && from_const));
}

}  // namespace

Rank Overloads::rank(const Value& from, const QualifiedType& to) {
  const Type* type = to.type;
  if (to.function != nullptr) {
    const Class* object = from.type == nullptr ? nullptr : types_.class_of(from.type);
    const bool is_callable =
        object != nullptr && (object->function != nullptr || !lookup_.find_in("operator()", *object->scope).empty());
    return is_callable ? Rank::Exact : Rank::Impossible;
  }
  if (type == nullptr) return Rank::Impossible;
  if (type->is(TypeKind::Reference)) return rank_reference(from, type);
  if (from.braces != nullptr) return rank_braces(from, type);
  if (type->is_pointer()) return rank_pointer(from, type);
  if (from.is_null) return type->is(TypeKind::Bool) ? Rank::Conversion : Rank::Impossible;
  if (from.type == nullptr || from.type->is(TypeKind::Void) || type->is(TypeKind::Void)) return Rank::Impossible;
  if (from.type == type) return type->is(TypeKind::Atomic) ? Rank::Impossible : Rank::Exact;
  if (type->is_number() && from.type->is_number()) {
    if (type->is_scalar() && from.type->is_scalar()) return rank_scalars(from.type, type);
    if (type->is_vector() && from.type->is_scalar()) return from.type->is_scoped ? Rank::Impossible : Rank::Splat;
    if (type->is_vector() && from.type->is_vector() && type->inner == from.type->inner &&
        type->count == from.type->count)
      return Rank::Qualification;  // packed or not
    return Rank::Impossible;
  }
  if (type->is(TypeKind::Bool) && (from.type->is_pointer() || from.type->is_array())) return Rank::Conversion;
  if (type->is_struct() && from.type->is_struct()) {
    const Class* derived = types_.class_of(from.type);
    const Class* base = types_.class_of(type);
    if (derived->function != nullptr && derived->function == base->function) return Rank::Exact;
    if (types_.is_derived(*derived, *base)) return Rank::Conversion;
  }
  return rank_user(from, type);
}

Rank Overloads::rank_reference(const Value& from, const Type* reference) {
  const Type* to = reference->inner;
  if (from.is_place && from.braces == nullptr) {
    const bool fits = rank_fits_space(from.space, from.is_const, reference->space);
    const bool may_write = reference->is_const || reference->space == Space::Constant || !from.is_const;
    if (from.type == to && fits && may_write) {
      if ((from.is_constant ? Space::Constant : from.space) != reference->space) return Rank::Promotion;
      return reference->is_const == from.is_const ? Rank::Exact : Rank::Qualification;
    }
    if (fits && may_write && to->is_struct() && from.type->is_struct() &&
        types_.is_derived(*types_.class_of(from.type), *types_.class_of(to)))
      return Rank::Conversion;
  }
  // A const reference may refer to a copy.
  const bool may_copy = reference->is_const || reference->space == Space::Constant;
  if (!may_copy || (reference->space != Space::Thread && reference->space != Space::Constant)) return Rank::Impossible;
  const Rank copied = rank(from, {.type = to});
  if (from.is_place && copied == Rank::Exact) return Rank::Promotion;
  return copied == Rank::Exact && reference->space == Space::Constant ? Rank::Promotion : copied;
}

Rank Overloads::rank_pointer(const Value& from, const Type* pointer) {
  if (from.is_null || from.is_literal_zero) return Rank::Conversion;
  if (from.type == nullptr) return Rank::Impossible;
  const bool is_array = from.type->is_array();
  if (!is_array && !from.type->is_pointer()) return rank_user(from, pointer);
  const Space space = is_array ? from.space : from.type->space;
  const bool is_constant = from.is_constant && (is_array || !from.is_place);
  const bool is_const = is_array ? from.is_const : from.type->is_const;
  // A table of constants in a function may be in thread memory for the source: its copy is.
  if (is_array && space == Space::Program && pointer->space == Space::Thread && pointer->is_const &&
      from.type->inner == pointer->inner)
    return Rank::Conversion;
  if (!rank_fits_space(space, is_const, pointer->space)) return Rank::Impossible;
  if (is_const && !pointer->is_const && pointer->space != Space::Constant) return Rank::Impossible;
  const Type* to = pointer->inner;
  const Type* pointee = from.type->inner;
  if (pointee == to) {
    if ((is_constant ? Space::Constant : space) != pointer->space) return Rank::Promotion;
    return is_const == pointer->is_const ? Rank::Exact : Rank::Qualification;
  }
  if (to->is(TypeKind::Void)) return Rank::Conversion;
  if (to->is_struct() && pointee->is_struct() && types_.is_derived(*types_.class_of(pointee), *types_.class_of(to)))
    return Rank::Conversion;
  return Rank::Impossible;
}

// {a, b}: only checks that there are enough places for the values.
Rank Overloads::rank_braces(const Value& from, const Type* to) {
  const size_t given = from.braces->operands.size();
  if (to->is_vector()) return given <= to->count ? Rank::User : Rank::Impossible;
  if (to->is_array()) return given <= to->count || to->count == 0 ? Rank::User : Rank::Impossible;
  if (!to->is_struct()) return given <= 1 ? Rank::User : Rank::Impossible;
  const Class* made = types_.class_of(to);
  if (const auto constructors = made->scope->own(kConstructorName); !constructors.empty()) {
    if (given == 0) return Rank::User;
    // Otherwise each level is ranked again for every candidate of the outer level.
    if (braces_ >= kMaxBraces) return Rank::User;
    const Restore<uint32_t> restore(braces_);
    ++braces_;
    // The values are lowered again when a constructor was chosen.
    OverloadSet set{.name = kConstructorName, .candidates = {constructors.begin(), constructors.end()}};
    return try_choose(set, context_.expressions->values_of(from.braces->operands, *from.braces_scope))
               ? Rank::User
               : Rank::Impossible;
  }
  // Arrays and structs in it take several values each.
  size_t places = 0;
  for (const Member& member : made->members) {
    const Type* type = member.type;
    size_t count = 1;
    for (; type->is_array(); type = type->inner) count *= type->count;
    places += type->is_struct() ? count * std::max<size_t>(1, type->fields.size()) * 16 : count;
  }
  return given <= places ? Rank::User : Rank::Impossible;
}

Rank Overloads::rank_user(const Value& from, const Type* to) {
  if (from.type == nullptr || (!to->is_struct() && !from.type->is_struct())) return Rank::Impossible;
  return user_conversion(from, to) ? Rank::User : Rank::Impossible;
}

std::optional<TemplateArguments> Overloads::conversion_arguments(const Symbol& symbol, const Type* to) {
  const ast::Declaration& declaration = *symbol.declaration;
  TemplateArguments arguments;
  if (!declaration.is_template) return arguments;
  Deduction deduction(declaration.template_parameters);
  try {
    if (!templates_.match_type(*declaration.conversion, {.type = to}, *symbol.scope, deduction)) return std::nullopt;
    Scope* bound = nullptr;
    arguments = templates_.finish_arguments(declaration, *symbol.scope, deduction.found, declaration.at, bound);
  } catch (const Rejected&) {
    return std::nullopt;
  }
  return arguments;
}

void Overloads::keep_conversions(OverloadSet& set, const Type* to) {
  std::vector<const Symbol*> functions, templates;
  for (const Symbol* symbol : set.candidates) {
    const std::optional<TemplateArguments> arguments = conversion_arguments(*symbol, to);
    if (!arguments) continue;
    const Signature& types = signature(*symbol, *arguments);
    if (types.fault || !types.result || types.result->type != to) continue;
    (symbol->declaration->is_template ? templates : functions).push_back(symbol);
    if (symbol->declaration->is_template) set.arguments = types.arguments;
  }
  set.has_arguments = functions.empty() && !templates.empty();
  if (!set.has_arguments) set.arguments.clear();
  set.candidates = set.has_arguments ? std::move(templates) : std::move(functions);
}

std::optional<UserConversion> Overloads::user_conversion(const Value& from, const Type* to) {
  if (user_conversions_ != 0) return std::nullopt;
  const Restore<uint32_t> restore(user_conversions_);
  ++user_conversions_;
  const Restore<bool> restore_explicit(allows_explicit_);
  const bool is_explicit = std::exchange(allows_explicit_, false);
  UserConversion found;
  if (const Class* made = types_.class_of(to)) {
    OverloadSet set{.name = kConstructorName};
    for (const Symbol* symbol : made->scope->own(kConstructorName))
      if (!symbol->declaration->is_explicit) set.candidates.push_back(symbol);
    if (!set.candidates.empty()) try {
        if (try_choose(set, std::span(&from, 1))) {
          found.by_constructor = true;
          return found;
        }
      } catch (const Rejected&) {
        return std::nullopt;  // it is ambiguous
      }
  }
  const Class* own = types_.class_of(from.type);
  if (own == nullptr) return std::nullopt;
  Rank best = Rank::Impossible;
  for (const Symbol* symbol : lookup_.find_in("operator", *own->scope)) {
    if (symbol->declaration->is_explicit && !is_explicit && !to->is(TypeKind::Bool)) continue;
    const Rank of_object = object_rank(*symbol, from);
    if (of_object == Rank::Impossible) continue;
    const std::optional<TemplateArguments> arguments = conversion_arguments(*symbol, to);
    if (!arguments) continue;
    const Signature& types = signature(*symbol, *arguments);
    if (types.fault || !types.result) continue;
    Value result;
    result.type = types.result->type->is(TypeKind::Reference) ? types.result->type->inner : types.result->type;
    const Rank after = std::max(rank(result, {.type = to}), of_object == Rank::Splat ? Rank::Exact : of_object);
    if (after >= best) continue;
    best = after;
    found.symbol = symbol;
    found.arguments = types.arguments;
  }
  if (found.symbol == nullptr) return std::nullopt;
  return found;
}

// ---- Signatures and instances ---------------------------------------------------------------------------------------

// The types of a function for one list of template arguments, and the instance for a call.

namespace {

bool signature_has_decltype(const ast::TypeName& type) {
  if (type.form == ast::TypeForm::Decltype) return true;
  for (const ast::NamePart& part : type.name.parts)
    for (const ast::TemplateArgument& argument : part.arguments)
      if (argument.value != nullptr || (argument.type != nullptr && signature_has_decltype(*argument.type)))
        return true;
  return type.inner != nullptr && signature_has_decltype(*type.inner);
}

}  // namespace

const Signature& Overloads::signature(const Symbol& symbol, const TemplateArguments& arguments) {
  Signature*& known = signatures_by_key_[instance_key(&symbol, arguments)];
  if (known != nullptr) return *known;
  known = &signatures_.emplace_back();
  Signature& made = *known;
  made.symbol = &symbol;
  made.declaration = symbol.declaration;
  made.arguments = arguments;
  made.fault = Rejected{symbol.declaration->at, base::format("the types of \"{}\" depend on themselves", symbol.name)};
  try {
    work_out(made);
    made.fault.reset();
  } catch (const Rejected& rejected) {
    made.fault = rejected;
  }
  return made;
}

namespace {

bool is_special_member(const ast::Declaration& declaration) {
  const ast::Declaration* outer = declaration.enclosing_template;
  return outer != nullptr && outer->is_template && outer->template_parameters.empty();
}

}  // namespace

// The definition outside of its struct of a member that has only a declaration inside.
const PlacedDeclaration* Overloads::definition_of(const Symbol& member) {
  if (member.owner == nullptr || member.owner->is_closure) return nullptr;
  const auto outside = lookup_.declared().outside.find(member.owner->declaration);
  if (outside == lookup_.declared().outside.end()) return nullptr;
  const ast::Declaration& inside = *member.declaration;
  const PlacedDeclaration* found = nullptr;
  for (const PlacedDeclaration& placed : outside->second) {
    const ast::Declaration& other = *placed.declaration;
    if (other.name != inside.name || other.parameters.size() != inside.parameters.size() ||
        other.is_const != inside.is_const || other.this_space != inside.this_space)
      continue;
    // template <> void S<int>::f() replaces what the template S has for this one instance.
    if (is_special_member(other)) {
      if (lookup_.scope_of(other.qualified, *placed.scope, other.at) == member.owner->scope) return &placed;
      continue;
    }
    if (inside.body != nullptr) continue;
    bool is_same = true;
    for (size_t i = 0; i < inside.parameters.size(); ++i)
      is_same = is_same && same_type(*inside.parameters[i]->type, *other.parameters[i]->type);
    if (is_same) return &placed;
    if (found == nullptr) found = &placed;  // perhaps with other names of the template parameters
  }
  return found;
}

void Overloads::work_out(Signature& made) {
  const Symbol& symbol = *made.symbol;
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, symbol.declaration->at, "a function's type");
  Scope* around = symbol.scope;
  if (const PlacedDeclaration* placed = definition_of(symbol)) {
    made.declaration = placed->declaration;
    const bool is_outer = placed->declaration->enclosing_template == nullptr && !symbol.declaration->is_template;
    const ast::Declaration* outer = is_outer ? placed->declaration : placed->declaration->enclosing_template;
    if (outer != nullptr && outer->is_template && !symbol.owner->bound.empty())
      around = &templates_.bind(outer->template_parameters, symbol.owner->bound, *around);
  }
  made.scope = symbol.declaration->is_template
                   ? &templates_.bind(made.declaration->template_parameters, made.arguments, *around)
                   : around;
  read_parameters(made);
  if (symbol.declaration->is_template && !made.arguments.empty()) use_specialisation(made);
  read_result(made);
}

void Overloads::read_parameters(Signature& made) {
  const ast::Declaration& declaration = *made.declaration;
  made.parameters.clear();
  const auto add = [&](const ast::Declaration& parameter, const ast::Declaration& defaulted, Scope& scope) {
    Parameter& added = made.parameters.emplace_back();
    added.name = parameter.name;
    added.declaration = &defaulted;
    added.type = types_.resolve(*parameter.type, scope);
    if (added.type.function != nullptr) return;
    if (added.type.class_template != nullptr) throw Types::needs_arguments(added.type, parameter.at);
    if (added.type.is_auto) throw Rejected{parameter.at, "a parameter cannot be auto here"};
    if (added.type.type->is_array()) {
      added.type.type =
          table_.pointer(added.type.type->inner, added.type.space.value_or(Space::Thread), added.type.is_const);
      added.type.is_const = false;
    }
    if (added.type.type->is(TypeKind::Void))
      throw Rejected{parameter.at, base::format("parameter \"{}\" cannot be void", parameter.name)};
  };
  for (size_t i = 0; i < declaration.parameters.size(); ++i) {
    const ast::Declaration& parameter = *declaration.parameters[i];
    if (declaration.parameters.size() == 1 && parameter.name.empty() && parameter.type->form == ast::TypeForm::Named &&
        parameter.type->name.last().name == "void")
      break;
    if (parameter.is_variadic) {
      for (Scope* each : templates_.expansions(nullptr, parameter.type, *made.scope, parameter.at))
        add(parameter, parameter, *each);
      continue;
    }
    // Any of the declarations may have the default.
    const ast::Declaration* defaulted = &parameter;
    const auto look_at = [&](const ast::Declaration& other) {
      if (defaulted->initializer == nullptr && i < other.parameters.size() &&
          other.parameters[i]->initializer != nullptr)
        defaulted = other.parameters[i];
    };
    look_at(*made.symbol->declaration);
    for (const ast::Declaration* other : made.symbol->others) look_at(*other);
    add(parameter, *defaulted, *made.scope);
  }
}

// template <> void f<int>(int): replaces the template for exactly these arguments.
void Overloads::use_specialisation(Signature& made) {
  const auto found = lookup_.declared().specialised.find({made.symbol->scope, made.symbol->name});
  if (found == lookup_.declared().specialised.end()) return;
  for (const PlacedDeclaration& placed : found->second) {
    const ast::Declaration& special = *placed.declaration;
    if (special.parameters.size() != made.parameters.size()) continue;
    Signature attempt;
    attempt.symbol = made.symbol;
    attempt.declaration = &special;
    attempt.arguments = made.arguments;
    attempt.scope = placed.scope;
    bool is_it = true;
    try {
      read_parameters(attempt);
      for (size_t i = 0; i < made.parameters.size() && is_it; ++i)
        is_it = attempt.parameters[i].type.type == made.parameters[i].type.type;
      if (is_it && !special.qualified.parts.empty()) {
        const TemplateArguments given =
            templates_.evaluate_arguments(special.qualified.last().arguments, *placed.scope);
        for (size_t i = 0; i < given.size() && is_it; ++i)
          is_it = i < made.arguments.size() && (given[i].kind == TemplateArgument::Kind::Value
                                                    ? made.arguments[i].kind == given[i].kind &&
                                                          (!given[i].value->type->is_struct() ||
                                                           given[i].value->type == made.arguments[i].value->type) &&
                                                          made.arguments[i].value->bits == given[i].value->bits
                                                    : given[i] == made.arguments[i]);
      }
    } catch (const Rejected&) {
      is_it = false;
    }
    if (!is_it) continue;
    read_result(made);  // of several templates it belongs to the one whose result has a type for these arguments
    const std::optional<QualifiedType> own = std::exchange(made.result, std::nullopt);
    // template <> half f(bool) is f<half>, if only the result says what T is.
    read_result(attempt);
    if (own && attempt.result && own->type != attempt.result->type) continue;
    made.declaration = &special;
    made.scope = placed.scope;
    made.parameters = std::move(attempt.parameters);
    return;
  }
}

void Overloads::read_result(Signature& made) {
  const ast::Declaration& declaration = *made.declaration;
  if (made.symbol->name == kConstructorName) {
    made.result = QualifiedType{.type = made.symbol->owner->type};
    return;
  }
  const ast::TypeName* written = declaration.conversion != nullptr ? declaration.conversion : declaration.type;
  if (written == nullptr) return;
  Scope* scope = made.scope;
  if (signature_has_decltype(*written)) {
    // It may name the parameters.
    scope = &lookup_.make_scope(Scope::Kind::Function, made.scope);
    for (size_t i = 0; i < made.parameters.size(); ++i) {
      const Parameter& parameter = made.parameters[i];
      const Type* type = parameter.type.type;
      if (type == nullptr) continue;
      const bool is_reference = type->is(TypeKind::Reference);
      const Type* held = is_reference ? table_.pointer(type->inner, type->space, type->is_const) : type;
      ir::Variable& variable = context_.module.make_variable(std::string(parameter.name), held);
      Value& value = lookup_.make_value();
      const ir::Expression* place = context_.build(declaration.at).variable(variable);
      value.ir = is_reference ? context_.build(declaration.at).deref(place) : place;
      value.type = is_reference ? type->inner : type;
      value.is_place = true;
      value.is_const = is_reference ? type->is_const : parameter.type.is_const;
      if (is_reference) value.space = type->space;
      if (parameter.name.empty()) continue;
      if (!parameter.declaration->is_variadic) {
        lookup_.make_symbol(Symbol::Kind::Local, parameter.name, *scope).value = &value;
        continue;
      }
      auto& known = scope->symbols[parameter.name];
      (known.empty() ? lookup_.make_symbol(Symbol::Kind::LocalPack, parameter.name, *scope) : *known.front())
          .locals.push_back(&value);
    }
  }
  const QualifiedType result = types_.resolve(*written, *scope);
  if (result.class_template != nullptr) throw Types::needs_arguments(result, written->at);
  if (!result.is_auto) made.result = result;
}

FunctionInstance& Overloads::make_instance(const FunctionInstance& like) {
  ++context_.instances;
  return instances_.emplace_back(like);
}

FunctionInstance& Overloads::instance(const Symbol& function, const TemplateArguments& arguments,
                                      std::span<const Value> given, const Value* object, Location at) {
  const Signature& types = signature(function, arguments);
  if (types.fault) throw *types.fault;
  Class* owner = function.owner;
  const bool has_object = owner != nullptr && !types.declaration->is_static && !function.declaration->is_static &&
                          function.name != kConstructorName;
  const Space this_space = has_object && object != nullptr ? object->space : Space::Thread;

  std::string key = instance_key(&function, arguments);
  std::vector<QualifiedType> adapted(types.parameters.size());
  for (size_t i = 0; i < types.parameters.size(); ++i) {
    if (types.parameters[i].type.function != nullptr) {
      adapted[i].type = context_.expressions->pointed_function(types.parameters[i].type,
                                                               i < given.size() ? given[i].type : nullptr, at);
      key += base::format("|{}:f{}", i, adapted[i].type->id);
      continue;
    }
    adapted[i] = i < given.size() ? types_.adapt(types.parameters[i].type, given[i]) : types.parameters[i].type;
    if (adapted[i].type != types.parameters[i].type.type)
      key += base::format("|{}:{}", i, static_cast<int>(adapted[i].type->space));
  }
  key += base::format("|{}", static_cast<int>(this_space));
  FunctionInstance*& known = instances_by_key_[key];
  if (known != nullptr) return *known;
  context_.check_instances(at);

  FunctionInstance& made = make_instance({});
  made.declaration = types.declaration;
  made.owner = owner;
  made.is_static = owner != nullptr && !has_object;
  made.this_space = this_space;
  made.this_const = has_object && (owner->is_closure ? owner->lambda != nullptr && !owner->lambda->is_mutable
                                                     : function.declaration->is_const);
  made.arguments = arguments;
  made.scope = types.scope;
  made.parameters = types.parameters;
  for (size_t i = 0; i < adapted.size(); ++i) made.parameters[i].type = adapted[i];
  if (types.result) {
    made.result = types.result->type;
    made.result_is_reference = made.result->is(TypeKind::Reference);
  }
  known = &made;
  return made;
}

}  // namespace kymo::shader
