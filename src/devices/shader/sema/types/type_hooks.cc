// Types that the standard library names but cannot define in Metal: vec<T, N>, atomic<T>, and the parts of traits.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/guards.h"
#include "shader/sema/types/types.h"

namespace kymo::shader {
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

}  // namespace kymo::shader
