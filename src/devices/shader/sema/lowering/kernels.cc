// Kernels and their host names.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

std::string kernel_host_name(const ast::Declaration& declaration) {
  const ast::Attribute* attribute = declaration.attribute("host_name");
  if (attribute == nullptr) return std::string(declaration.name);
  if (attribute->arguments.size() != 1 || attribute->arguments[0]->kind != ast::ExpressionKind::String)
    throw Rejected{attribute->at, "host_name takes one string, such as [[host_name(\"add_float\")]]"};
  if (attribute->arguments[0]->text.empty())
    throw Rejected{attribute->at, "host_name is empty: give the kernel a name"};
  return std::string(attribute->arguments[0]->text);
}

}  // namespace

bool Lowering::is_wanted(const std::string& name) {
  if (options_.kernels.empty()) return true;
  if (std::find(options_.kernels.begin(), options_.kernels.end(), name) != options_.kernels.end()) return true;
  unwanted_.push_back(name);
  return false;
}

void Lowering::check_wanted() const {
  for (const std::string& name : options_.kernels) {
    if (host_names_.contains(name) || diagnostics_.has_errors()) continue;
    throw Rejected{{.file = context_.user_file},
                   base::format("there is no kernel \"{}\"; kernels in the source: {}", name,
                                unwanted_.empty() ? "none" : base::join(unwanted_, ", "))};
  }
}

void Lowering::lower_kernels() {
  const auto attempt = [&](auto&& work) {
    if (diagnostics_.is_full()) return;
    context_.renew_steps();
    try {
      work();
    } catch (const Rejected& rejected) {
      context_.report(rejected);
    }
  };
  // By index: lowering may declare more.
  for (size_t i = 0; i < lookup_.declared().functions.size(); ++i) {
    const Symbol& symbol = *lookup_.declared().functions[i];
    if (symbol.declaration->is_kernel && symbol.declaration->body != nullptr)
      attempt([&] {
        std::string name = kernel_host_name(*symbol.declaration);
        if (!is_wanted(name)) return;
        lower_kernel(overloads_.instance(symbol, {}, {}, nullptr, symbol.declaration->at), std::move(name));
      });
  }
  for (size_t i = 0; i < lookup_.declared().instantiations.size(); ++i) {
    const PlacedDeclaration placed = lookup_.declared().instantiations[i];
    attempt([&] { lower_instantiation(*placed.declaration, *placed.scope); });
  }
  attempt([&] { check_wanted(); });
}

void Lowering::lower_instantiation(const ast::Declaration& declaration, Scope& scope) {
  const ast::Declaration& inner = declaration.inner != nullptr ? *declaration.inner : declaration;
  if (inner.kind == ast::DeclarationKind::Struct) {
    ast::TypeName type;
    type.at = inner.at;
    type.name = inner.qualified;
    if (!type.name.parts.empty()) types_.resolve(type, scope);
    return;
  }
  std::string name = kernel_host_name(declaration.attribute("host_name") != nullptr ? declaration : inner);
  if (!is_wanted(name)) return;
  TemplateArguments arguments;
  const Symbol* symbol = instantiated_kernel(inner, scope, arguments);
  if (!symbol->declaration->is_kernel) return;  // other functions are instantiated where they are called
  lower_kernel(overloads_.instance(*symbol, arguments, {}, nullptr, inner.at), std::move(name));
}

// What a parameter of this type takes without a conversion.
Value Lowering::typical_argument(const QualifiedType& type) {
  const bool is_reference = type.type->is(TypeKind::Reference);
  Value value;
  value.type = is_reference ? type.type->inner : type.type;
  value.is_place = is_reference;
  value.is_const = is_reference && type.type->is_const;
  if (is_reference) value.space = type.type->space;
  if (value.type->is_array())
    value.type = types_.pointer_to({.type = value.type->inner, .is_const = type.is_const, .space = type.space});
  return value;
}

// The template of `template kernel void f<float>(device float*);`, and its arguments.
const Symbol* Lowering::instantiated_kernel(const ast::Declaration& function, Scope& scope,
                                            TemplateArguments& arguments) {
  ast::Name name = function.qualified;
  if (name.parts.empty()) {
    name.parts.push_back({});
    name.parts[0].name = function.name;
  }
  const bool has_types = function.kind == ast::DeclarationKind::Function;
  std::vector<Value> given;
  if (has_types)
    for (const ast::Declaration* parameter : function.parameters) {
      const QualifiedType type = types_.resolve(*parameter->type, scope);
      if (type.type == nullptr || type.type->is(TypeKind::Void)) break;
      given.push_back(typical_argument(type));
    }
  const TemplateArguments written = templates_.evaluate_arguments(name.last().arguments, scope);
  const Symbol* found = nullptr;
  std::vector<Report> notes;
  for (const Symbol* symbol : lookup_.find(name, scope, function.at)) {
    if (symbol->kind != Symbol::Kind::Function || !symbol->declaration->is_template) continue;
    const auto no = [&](std::string why) {
      notes.push_back({Severity::Note, symbol->declaration->at, "not this one: " + std::move(why)});
    };
    TemplateArguments attempt;
    try {
      if (has_types && given.size() != symbol->declaration->parameters.size() &&
          (symbol->declaration->parameters.empty() || !symbol->declaration->parameters.back()->is_variadic)) {
        no(base::format("it has {} parameters, not {}", symbol->declaration->parameters.size(), given.size()));
        continue;
      }
      if (!templates_.deduce(*symbol->declaration, *symbol->scope, written, given, attempt)) {
        no("its parameters do not fit these types");
        continue;
      }
    } catch (const Rejected& rejected) {
      no(rejected.text);
      continue;
    }
    const Signature& types = overloads_.signature(*symbol, attempt);
    if (types.fault) {
      no(types.fault->text);
      continue;
    }
    bool is_it = true;
    for (size_t i = 0; has_types && i < given.size() && is_it; ++i) {
      const Type* wanted = types.parameters[i].type.type;
      is_it = (wanted->is(TypeKind::Reference) ? wanted->inner : wanted) == given[i].type;
      if (!is_it)
        no(base::format("parameter {} is {} in it, not {}", i + 1, in_quotes(wanted), in_quotes(given[i].type)));
    }
    if (!is_it) continue;
    found = symbol;
    arguments = std::move(attempt);
    if (symbol->declaration->is_kernel) break;
  }
  if (found == nullptr)
    throw Rejected{function.at,
                   base::format("there is no template \"{}\" that this could instantiate", name.last().name),
                   std::move(notes)};
  return found;
}

void Lowering::lower_kernel(FunctionInstance& instance, std::string host_name) {
  const ast::Declaration& declaration = *instance.declaration;
  if (const auto [known, is_new] = host_names_.try_emplace(host_name, declaration.at); !is_new)
    throw Rejected{
        declaration.at,
        base::format("there are two kernels called \"{}\": give one of them another [[host_name(\"...\")]]", host_name),
        {{Severity::Note, known->second, "the other one"}}};
  if (instance.result == nullptr || !instance.result->is(TypeKind::Void))
    throw Rejected{declaration.at, base::format("the kernel \"{}\" must return void", declaration.name)};
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, declaration.at, "a kernel");
  // One instance may have several host names. Each is a separate kernel.
  FunctionInstance& own = overloads_.make_instance(instance);
  const Restore<Body> restore(body_);
  ir::Function& function = module_.make_function(std::string(declaration.name));
  function.host_name = std::move(host_name);
  function.is_kernel = true;
  function.result = table_.get(TypeKind::Void);
  function.at = declaration.at;
  if (const ast::Attribute* most = declaration.attribute("max_total_threads_per_threadgroup");
      most != nullptr && most->arguments.size() == 1)
    function.max_threads =
        static_cast<uint32_t>(constant_integer(*most->arguments[0], *own.scope, "max_total_threads_per_threadgroup"));
  own.function = &function;
  body_ = Body();
  body_.instance = &own;
  body_.block = &function.body;
  Scope& locals = lookup_.make_scope(Scope::Kind::Function, own.scope);
  std::vector<bool> buffers;
  for (const ast::Declaration* written : declaration.parameters)
    if (written->is_variadic && !written->name.empty())
      lookup_.make_symbol(Symbol::Kind::LocalPack, written->name, locals);
  for (const Parameter& parameter : own.parameters) bind_kernel_parameter(own, parameter, locals, buffers);
  lower_statements(own, locals, true);
  own.state = FunctionInstance::State::Lowered;
  module_.functions.push_back(&function);
}

}  // namespace kymo::shader
