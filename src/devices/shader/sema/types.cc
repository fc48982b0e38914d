// From a written type to a Type.

#include "shader/sema/types.h"

#include <algorithm>

#include "base/text.h"
#include "shader/sema/builtins.h"
#include "shader/sema/lowering/lowering.h"
#include "shader/sema/templates.h"

namespace kymo::shader {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 30;

bool type_is_of_drawing(std::string_view name) {
  static constexpr std::string_view kBegins[] = {"texture",
                                                 "depth2d",
                                                 "depthcube",
                                                 "sampler",
                                                 "imageblock",
                                                 "render_grid",
                                                 "visible_function_table",
                                                 "intersect",
                                                 "acceleration_structure"};
  return std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

bool type_is_bare(const ast::Name& name) {
  return name.parts.size() == 1 && !name.from_global && !name.parts[0].has_arguments;
}

}  // namespace

Rejected Types::needs_arguments(const QualifiedType& type, Location at) {
  return {at, base::format("\"{0}\" is a template: write \"{0}<...>\"", type.class_template->name)};
}

const Type* Types::instance_of(const Symbol& symbol, TemplateArguments arguments, Location at) {
  Class& made = instantiate_class(symbol, std::move(arguments), at);
  complete(made, at);
  return made.type;
}

QualifiedType Types::resolve(const ast::TypeName& type, Scope& scope) {
  QualifiedType resolved = resolve_shape(type, scope);
  if (resolved.type != nullptr) complete_value(resolved.type, type.at);
  return resolved;
}

// Like resolve(), but structs may be incomplete after it.
QualifiedType Types::resolve_shape(const ast::TypeName& type, Scope& scope) {
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, type.at, "a type");
  QualifiedType resolved;
  switch (type.form) {
    case ast::TypeForm::Named:
      resolved = resolve_named(type, scope);
      break;
    case ast::TypeForm::Decltype:
      resolved.type = context_.expressions->type_of(*type.expression, scope);
      break;
    case ast::TypeForm::Pointer:
    case ast::TypeForm::Reference:
    case ast::TypeForm::RvalueReference: {
      const QualifiedType inner = resolve_shape(*type.inner, scope);
      if (inner.function != nullptr) {
        resolved = inner;
        break;
      }
      if (inner.class_template != nullptr) throw needs_arguments(inner, type.at);
      if (inner.is_auto) {
        resolved.is_auto = true;
        resolved.declared = &type;
        return resolved;
      }
      if (type.form == ast::TypeForm::Pointer) {
        if (inner.type->is(TypeKind::Reference))
          throw Rejected{type.at,
                         base::format("there are no pointers to references such as {}", in_quotes(inner.type))};
        resolved.type = pointer_to(inner);
      } else if (inner.type->is(TypeKind::Reference)) {
        resolved.type = inner.type;
      } else if (inner.type->is(TypeKind::Void)) {
        throw Rejected{type.at, "there are no references to void"};
      } else if (type.form == ast::TypeForm::RvalueReference && !inner.space) {
        resolved = inner;  // a temporary can be passed by value
      } else {
        resolved.type = reference_to(inner);
      }
      break;
    }
    case ast::TypeForm::Array: {
      resolved = resolve_shape(*type.inner, scope);
      if (resolved.function != nullptr)
        throw Rejected{type.at, "arrays of pointers to functions are not supported: use if or switch"};
      if (resolved.class_template != nullptr) throw needs_arguments(resolved, type.at);
      if (resolved.is_auto || resolved.type->is(TypeKind::Reference) || resolved.type->is(TypeKind::Void))
        throw Rejected{type.at, "the elements of an array must be values, not auto, void or references"};
      uint64_t count = 0;
      if (type.expression != nullptr) {
        count = context_.expressions->constant_integer(*type.expression, scope, "the size of an array");
        if (count == 0 || count > kMaxElements)
          throw Rejected{type.at, base::format("an array has 1 to {} elements, not {}", kMaxElements,
                                               static_cast<int64_t>(count))};
      }
      resolved.type = table_.array(resolved.type, static_cast<uint32_t>(count));
      break;
    }
    case ast::TypeForm::Function:
      resolved.is_auto = true;
      resolved.declared = resolved.function = &type;
      resolved.function_scope = &scope;
      return resolved;
  }
  resolved.is_const = resolved.is_const || type.is_const;
  if (type.space) resolved.space = type.space;
  return resolved;
}

QualifiedType Types::resolve_named(const ast::TypeName& type, Scope& scope) {
  const ast::Name& name = type.name;
  QualifiedType resolved;
  if (type_is_bare(name)) {
    const std::string_view bare = name.last().name;
    if (bare == "auto") {
      resolved.is_auto = true;
      resolved.declared = &type;
      return resolved;
    }
    if ((resolved.type = builtin_type(table_, bare)) != nullptr) return resolved;
    if (bare.starts_with("double") && bare.size() <= 7)
      throw Rejected{type.at, base::format("there is no \"{}\" in Metal: use \"float{}\"", bare, bare.substr(6))};
  }
  const std::vector<const Symbol*> found = lookup_.find(name, scope, type.at);
  for (const Symbol* symbol : found)
    if (symbol->kind == Symbol::Kind::Type || symbol->kind == Symbol::Kind::Argument)
      return type_named(*symbol, name.last(), scope, type.at);
  if (name.parts.size() == 1 && name.last().has_arguments && is_type_hook(name.last().name))
    return type_hook(name.last().name, context_.templates->evaluate_arguments(name.last().arguments, scope), type.at);
  if (!found.empty()) throw Rejected{type.at, base::format("\"{}\" is not a type", name.last().name)};
  if (type_is_of_drawing(name.last().name))
    throw Rejected{type.at,
                   base::format("\"{}\" is not supported{}", name.last().name,
                                name.last().name.starts_with("texture") || name.last().name.starts_with("depth")
                                    ? ": textures are texture1d, texture2d, texture2d_array and texture3d"
                                    : ": kernels work on buffers, textures, values and threadgroup memory")};
  if (name.parts.size() > 1) {
    // metal::float4, metal::vec<T, N>
    if (const Type* builtin = builtin_type(table_, name.last().name);
        builtin != nullptr && !name.last().has_arguments) {
      resolved.type = builtin;
      return resolved;
    }
    throw Rejected{type.at, base::format("there is no type \"{}\" in \"{}\"", name.last().name,
                                         name.parts[name.parts.size() - 2].name)};
  }
  throw Rejected{type.at, base::format("there is no type \"{}\" here{}", name.last().name,
                                       lookup_.suggestion(name.last().name, scope))};
}

// The type that a symbol is, with the arguments that its name is written with.
QualifiedType Types::type_named(const Symbol& symbol, const ast::NamePart& part, Scope& from, Location at) {
  QualifiedType resolved;
  if (symbol.kind == Symbol::Kind::Argument) {
    switch (symbol.argument.kind) {
      case TemplateArgument::Kind::Type:
        return symbol.argument.type;
      case TemplateArgument::Kind::Template:
        if (!part.has_arguments) break;
        return instantiate_type(*symbol.argument.symbol, part, from, at);
      case TemplateArgument::Kind::Pack:
        throw Rejected{at, base::format("\"{}\" is a pack: write ... after the pattern that contains it", symbol.name)};
      case TemplateArgument::Kind::Value:
        break;
    }
    throw Rejected{at, base::format("\"{}\" is not a type", symbol.name)};
  }
  if (symbol.type != nullptr && !part.has_arguments) {
    resolved.type = symbol.type;
    return resolved;
  }
  const ast::Declaration& declaration = *symbol.declaration;
  if (declaration.is_template) {
    if (part.has_arguments) return instantiate_type(symbol, part, from, at);
    const auto& parameters = declaration.template_parameters;
    if (std::ranges::all_of(parameters,
                            [](const ast::TemplateParameter& parameter) {
                              return parameter.is_pack || parameter.fallback.type != nullptr ||
                                     parameter.fallback.value != nullptr;
                            }) &&
        !parameters.empty())
      return instantiate_type(symbol, part, from, at);
    if (declaration.kind == ast::DeclarationKind::Struct && !is_hook(symbol)) {
      resolved.is_auto = true;
      resolved.class_template = symbol.original != nullptr ? symbol.original : &symbol;
      return resolved;
    }
    throw Rejected{at, base::format("\"{0}\" is a template: write \"{0}<...>\"", symbol.name)};
  }
  if (part.has_arguments) throw Rejected{at, base::format("\"{}\" is not a template", symbol.name)};
  switch (declaration.kind) {
    case ast::DeclarationKind::Struct:
      resolved.type = instantiate_class(symbol, {}, at).type;
      return resolved;
    case ast::DeclarationKind::Enum:
      resolved.type = enum_type(declaration, *lookup_.enum_scope(symbol));
      return resolved;
    default: {
      if (const auto known = aliases_.find(&symbol); known != aliases_.end()) return known->second;
      resolved = resolve_shape(*declaration.type, *symbol.scope);
      aliases_.emplace(&symbol, resolved);
      return resolved;
    }
  }
}

const Type* Types::resolve_plain(const ast::TypeName& type, Scope& scope) {
  const QualifiedType resolved = resolve(type, scope);
  if (resolved.function != nullptr)
    throw Rejected{type.at, "a pointer to a function is not supported here: pass the function as a template argument"};
  if (resolved.class_template != nullptr) throw needs_arguments(resolved, type.at);
  if (resolved.is_auto) throw Rejected{type.at, "auto cannot be used here: there is nothing to deduce it from"};
  return resolved.type;
}

std::optional<QualifiedType> Types::try_type(const ast::Expression& expression, Scope& scope) {
  if (expression.kind != ast::ExpressionKind::Name) return std::nullopt;
  const ast::Name& name = expression.name;
  if (type_is_bare(name))
    if (const Type* builtin = builtin_type(table_, name.last().name)) return QualifiedType{.type = builtin};
  for (const Symbol* symbol : lookup_.find(name, scope, expression.at)) {
    if (symbol->kind == Symbol::Kind::Argument) {
      if (symbol->argument.kind == TemplateArgument::Kind::Type) return symbol->argument.type;
      if (symbol->argument.kind != TemplateArgument::Kind::Template || !name.last().has_arguments) return std::nullopt;
    } else if (symbol->kind != Symbol::Kind::Type) {
      return std::nullopt;
    }
    if (symbol->kind == Symbol::Kind::Type && symbol->declaration != nullptr && symbol->declaration->is_template &&
        symbol->type == nullptr && !name.last().has_arguments)
      return std::nullopt;  // the template itself
    return type_named(*symbol, name.last(), scope, expression.at);
  }
  if (name.last().has_arguments && is_type_hook(name.last().name))
    return type_hook(name.last().name, context_.templates->evaluate_arguments(name.last().arguments, scope),
                     expression.at);
  return std::nullopt;
}

// ---- Types of the standard library ----------------------------------------------------------------------------------

// Types that the standard library names but cannot define in Metal: vec<T, N>, atomic<T>, and the parts of traits.

namespace {

constexpr std::string_view kTypeHooks[] = {"vec",
                                           "packed_vec",
                                           "atomic",
                                           "kymo_scalar_of",
                                           "kymo_remove_reference",
                                           "kymo_remove_const",
                                           "kymo_make_vector",
                                           "kymo_make_unsigned",
                                           "kymo_make_signed"};

// Integers of each size, first the signed, then the unsigned one.
TypeKind hook_integer(TypeKind kind, bool is_signed) {
  if (kind < TypeKind::Char || kind > TypeKind::ULong) return kind;
  const uint32_t offset = (static_cast<uint32_t>(kind) - static_cast<uint32_t>(TypeKind::Char)) / 2 * 2;
  return static_cast<TypeKind>(static_cast<uint32_t>(TypeKind::Char) + offset + (is_signed ? 0 : 1));
}

}  // namespace

bool Types::is_type_hook(std::string_view name) {
  return std::find(std::begin(kTypeHooks), std::end(kTypeHooks), name) != std::end(kTypeHooks);
}

QualifiedType Types::type_hook(std::string_view name, const TemplateArguments& arguments, Location at) {
  const bool is_vector = name == "vec" || name == "packed_vec" || name == "kymo_make_vector";
  if (arguments.size() != (is_vector ? 2 : 1) || arguments[0].kind != TemplateArgument::Kind::Type)
    throw Rejected{at, base::format("\"{}\" takes a type{}", name, is_vector ? " and a number of components" : "")};
  QualifiedType result = arguments[0].type;
  const Type* type = result.type;
  if (is_vector) {
    if (arguments[1].kind != TemplateArgument::Kind::Value || !arguments[1].value->type->is_integer())
      throw Rejected{at, base::format("\"{}\" takes a type and a number of components", name)};
    const uint64_t count = arguments[1].value->bits;
    if (name == "kymo_make_vector" && count == 1) return {.type = type};
    if (!type->is_scalar())
      throw Rejected{at, base::format("there are vectors of numbers and bool only, not of {}", in_quotes(type))};
    if (count < 2 || count > 4)
      throw Rejected{at, base::format("a vector has 2, 3 or 4 components, not {}", static_cast<int64_t>(count))};
    return {.type = table_.vector(type, static_cast<uint32_t>(count), name == "packed_vec")};
  }
  if (name == "atomic") {
    if (!type->is_scalar())
      throw Rejected{at, base::format("there are atomics of numbers only, not of {}", in_quotes(type))};
    return {.type = table_.atomic(type)};
  }
  if (name == "kymo_scalar_of") return {.type = type->is(TypeKind::Reference) ? type->inner->scalar() : type->scalar()};
  if (name == "kymo_remove_reference") {
    if (!type->is(TypeKind::Reference)) return result;
    return {.type = type->inner, .is_const = type->is_const};
  }
  if (name == "kymo_remove_const") {
    result.is_const = false;
    result.space.reset();
    return result;
  }
  const Type* scalar = table_.get(TypeKind::Int);
  if (type->is_number()) scalar = table_.get(hook_integer(type->scalar()->kind, name == "kymo_make_signed"));
  if (!type->is_number() || !scalar->is_integer())
    throw Rejected{at, base::format("{} is not an integer", in_quotes(type))};
  return {.type = table_.with_scalar(type, scalar)};
}

// A template with arguments: a struct, an alias or a hook.
QualifiedType Types::instantiate_type(const Symbol& symbol, const ast::NamePart& part, Scope& from, Location at) {
  const ast::Declaration& declaration = *symbol.declaration;
  if (is_hook(symbol)) return type_hook(symbol.name, context_.templates->evaluate_arguments(part.arguments, from), at);
  const TemplateArguments given = context_.templates->evaluate_arguments(part.arguments, from);
  Scope* bound = nullptr;
  TemplateArguments arguments = context_.templates->complete_arguments(declaration, *symbol.scope, given, at, bound);
  if (declaration.kind == ast::DeclarationKind::Struct)
    return {.type = instantiate_class(symbol, std::move(arguments), at).type};
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, at, "an alias template");
  return resolve_shape(*declaration.type, *bound);
}

bool Types::is_hook(const Symbol& symbol) {
  return symbol.declaration->kind == ast::DeclarationKind::Struct && !symbol.declaration->is_definition &&
         is_type_hook(symbol.name);
}

// ---- Pointers and references ----------------------------------------------------------------------------------------

// Pointers and references, and `constant` memory that is not a buffer.

// Constant memory is const, also without the word.
const Type* Types::pointer_to(const QualifiedType& to) {
  const Space space = to.space.value_or(Space::Thread);
  return table_.pointer(to.type, space, to.is_const || is_read_only(space));
}

const Type* Types::reference_to(const QualifiedType& to) {
  const Space space = to.space.value_or(Space::Thread);
  return table_.reference(to.type, space, to.is_const || is_read_only(space));
}

QualifiedType Types::adapt(const QualifiedType& to, const Value& from) {
  if (to.type == nullptr || to.type->space != Space::Constant || from.type == nullptr || from.braces != nullptr)
    return to;
  Space actual = Space::Constant;
  if (to.type->is_pointer()) {
    if (from.type->is_pointer())
      actual = from.type->space;
    else if (from.type->is_array())
      actual = from.space;
  } else if (to.type->is(TypeKind::Reference)) {
    actual = from.is_place ? from.space : Space::Thread;
  }
  if (actual != Space::Program && actual != Space::Thread) return to;
  QualifiedType adapted = to;
  adapted.type = to.type->is_pointer() ? table_.pointer(to.type->inner, actual, to.type->is_const)
                                       : table_.reference(to.type->inner, actual, to.type->is_const);
  return adapted;
}

// ---- The usual arithmetic conversions -------------------------------------------------------------------------------

const Type* Types::common_type(const Type* a, const Type* b, Location at) {
  if (a->is_enum()) a = a->underlying;
  if (b->is_enum()) b = b->underlying;
  if (!a->is_number() || !b->is_number())
    throw Rejected{at, base::format("{} and {} are not both numbers", in_quotes(a), in_quotes(b))};
  if (a->is_vector() && b->is_vector()) {
    if (a->count != b->count)
      throw Rejected{at, base::format("{} and {} differ in their number of components", in_quotes(a), in_quotes(b))};
    if (a->inner != b->inner)
      throw Rejected{at, base::format("{} and {} are not converted to each other: write {}(...) around one of them",
                                      in_quotes(a), in_quotes(b), TypeTable::name(table_.vector(a->inner, a->count)))};
    return table_.vector(a->inner, a->count);
  }
  if (a->is_vector()) return table_.vector(a->inner, a->count);
  if (b->is_vector()) return table_.vector(b->inner, b->count);
  if (a->is_floating() || b->is_floating()) {
    if (a == b || !b->is_floating()) return a;
    if (!a->is_floating()) return b;
    return table_.get(TypeKind::Float);  // half and bfloat, or either and float
  }
  const Type* integer = table_.get(TypeKind::Int);
  if (a->size < 4) a = integer;
  if (b->size < 4) b = integer;
  if (a->size != b->size) return a->size > b->size ? a : b;
  return a->is_signed() ? b : a;
}

}  // namespace kymo::shader
