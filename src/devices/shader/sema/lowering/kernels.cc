// Kernels, their host names and their parameters.

#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"
#include "shader/sema/context.h"
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
  if (std::ranges::find(options_.kernels, name) != options_.kernels.end()) return true;
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
    context_.reporting(work);
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

// ---- Parameters -----------------------------------------------------------------------------------------------------

// Parameters of a kernel: memory and values from the caller, and the position of the thread.

namespace {

constexpr uint32_t kMaxBuffers = 4096;
constexpr uint32_t kSimdWidth = 32;

// Attributes that do not change where a parameter comes from.
constexpr std::string_view kSilentAttributes[] = {"maybe_unused", "buffer", "threadgroup", "id", "texture", "sampler"};

bool parameter_is_silent(std::string_view attribute) {
  return std::ranges::find(kSilentAttributes, attribute) != std::end(kSilentAttributes);
}

}  // namespace

const ir::Expression* Lowering::position(std::string_view name, Location at, std::vector<std::string>* others) {
  using ir::Intrinsic;
  ir::Builder& make = build(at);
  const auto is = [&](std::string_view known) {
    if (others != nullptr) others->emplace_back(known);
    return name == known;
  };
  const auto product = [&](Intrinsic size) {
    const ir::Expression* of = make.intrinsic(size);
    return make.binary(ir::Operator::Multiply,
                       make.binary(ir::Operator::Multiply, make.index(of, 0), make.index(of, 1)), make.index(of, 2));
  };
  const auto in_groups_of = [&](const ir::Expression* count, uint32_t size) {
    return make.binary(ir::Operator::Divide, make.binary(ir::Operator::Add, count, make.constant_uint(size - 1)),
                       make.constant_uint(size));
  };
  const auto index_in_group = [&] {
    const ir::Expression* where = make.intrinsic(Intrinsic::GroupPosition);
    const ir::Expression* size = make.intrinsic(Intrinsic::GroupSize);
    const ir::Expression* row =
        make.binary(ir::Operator::Add, make.index(where, 1),
                    make.binary(ir::Operator::Multiply, make.index(size, 1), make.index(where, 2)));
    return make.binary(ir::Operator::Add, make.index(where, 0),
                       make.binary(ir::Operator::Multiply, make.index(size, 0), row));
  };
  if (is("thread_position_in_grid")) return make.intrinsic(Intrinsic::GridPosition);
  if (is("thread_position_in_threadgroup")) return make.intrinsic(Intrinsic::GroupPosition);
  if (is("threadgroup_position_in_grid")) return make.intrinsic(Intrinsic::GroupIndex);
  if (is("threads_per_grid") || is("grid_size")) return make.intrinsic(Intrinsic::GridSize);
  if (is("threads_per_threadgroup")) return make.intrinsic(Intrinsic::GroupSize);
  if (is("dispatch_threads_per_threadgroup")) return make.intrinsic(Intrinsic::FullGroupSize);
  if (is("threadgroups_per_grid")) return make.intrinsic(Intrinsic::GroupCount);
  if (is("grid_origin")) return make.zero(table_.vector(table_.get(TypeKind::UInt), 3));
  if (is("thread_index_in_threadgroup")) return index_in_group();
  if (is("thread_index_in_simdgroup")) return make.intrinsic(Intrinsic::SimdLane);
  if (is("simdgroup_index_in_threadgroup")) return make.intrinsic(Intrinsic::SimdIndex);
  if (is("threads_per_simdgroup") || is("thread_execution_width")) return make.constant_uint(kSimdWidth);
  if (is("simdgroups_per_threadgroup")) return in_groups_of(product(Intrinsic::GroupSize), kSimdWidth);
  if (is("dispatch_simdgroups_per_threadgroup")) return in_groups_of(product(Intrinsic::FullGroupSize), kSimdWidth);
  if (is("quadgroups_per_threadgroup")) return in_groups_of(product(Intrinsic::GroupSize), 4);
  if (is("dispatch_quadgroups_per_threadgroup")) return in_groups_of(product(Intrinsic::FullGroupSize), 4);
  if (is("thread_index_in_quadgroup"))
    return make.binary(ir::Operator::And, make.intrinsic(Intrinsic::SimdLane), make.constant_uint(3));
  if (is("quadgroup_index_in_threadgroup"))
    return make.binary(ir::Operator::Divide, index_in_group(), make.constant_uint(4));
  return nullptr;
}

// Of a pack: one more element of it.
void Lowering::make_parameter(const Parameter& parameter, const Value& value, Scope& locals) {
  if (parameter.name.empty()) return;
  if (!parameter.declaration->is_variadic) {
    make_local(parameter.name, value, locals);
    return;
  }
  Value& element = lookup_.make_value(value);
  element.home = body_.instance;
  for (Symbol* symbol : locals.symbols[parameter.name])
    if (symbol->kind == Symbol::Kind::LocalPack) symbol->locals.push_back(&element);
}

const ir::Variable& Lowering::add_binding(FunctionInstance& instance, const Parameter& parameter, ir::Binding binding,
                                          const Type* held) {
  ir::Variable& variable = module_.make_variable(std::string(parameter.name), held);
  variable.is_parameter = true;
  binding.variable = &variable;
  instance.function->parameters.push_back(&variable);
  instance.function->bindings.push_back(binding);
  return variable;
}

void Lowering::bind_position(const ast::Attribute& attribute, const Parameter& parameter, Scope& locals) {
  const ir::Expression* where = position(attribute.name, attribute.at);
  const Type* type = parameter.type.type;
  const Type* scalar = type->scalar();
  const bool is_position_type = type->is_number() && scalar->is_integer() && scalar->size >= 2 && scalar->size <= 4;
  if (!is_position_type || type->components() > where->type->components())
    throw Rejected{attribute.at,
                   base::format("[[{}]] must have type {}, not {}", attribute.name,
                                where->type->is_vector() ? "uint, uint2 or uint3 (or ushort)" : "uint (or ushort)",
                                in_quotes(type))};
  ir::Builder& make = build(attribute.at);
  if (type->components() < where->type->components())
    where = type->is_vector() ? make.swizzle(where, "xy") : make.index(where, 0);
  ir::Variable& variable = local(parameter.name, type, make.convert(type, where), attribute.at);
  Value value = variable_place(variable, attribute.at);
  value.is_const = parameter.type.is_const;
  make_parameter(parameter, value, locals);
}

void Lowering::bind_kernel_parameter(FunctionInstance& instance, const Parameter& parameter, Scope& locals,
                                     std::vector<bool>& buffers) {
  const ast::Declaration& written = *parameter.declaration;
  const Type* type = parameter.type.type;
  build_.at = written.at;
  const ast::Attribute* numbered = nullptr;
  bool is_absent = false;  // [[function_constant(x)]], and x is false: callers do not pass it
  for (const ast::Attribute& attribute : written.attributes) {
    if (position(attribute.name, attribute.at) != nullptr) return bind_position(attribute, parameter, locals);
    if (attribute.name == "function_constant" && attribute.arguments.size() == 1) {
      is_absent = is_absent || !constant_bool(*attribute.arguments[0], *instance.scope, "the condition of a parameter");
      continue;
    }
    if (!parameter_is_silent(attribute.name)) {
      std::vector<std::string> known(std::begin(kSilentAttributes), std::end(kSilentAttributes));
      position(attribute.name, attribute.at, &known);
      const auto meant = base::nearest(attribute.name, known);
      throw Rejected{attribute.at,
                     base::format("the attribute [[{}]] of parameter \"{}\" is not supported{}", attribute.name,
                                  parameter.name, meant ? base::format("; did you mean [[{}]]?", *meant) : "")};
    }
    if (attribute.name != "maybe_unused" && attribute.name != "id") numbered = &attribute;
  }
  if (ir::Binding texture; is_texture_or_sampler(type, texture)) {
    if (is_absent) return bind_null_texture(parameter, locals);
    return bind_texture(instance, parameter, numbered, texture, locals);
  }
  if (numbered != nullptr && (numbered->name == "texture" || numbered->name == "sampler"))
    throw Rejected{numbered->at, base::format("[[{}]] is for a {}, and parameter \"{}\" is {}", numbered->name,
                                              numbered->name, parameter.name, in_quotes(type))};
  const bool is_reference = type->is(TypeKind::Reference);
  refuse_textures_in(type, written.at);
  if (!is_reference && !type->is_pointer())
    throw Rejected{written.at,
                   base::format("parameter \"{0}\" of the kernel is {1}, which cannot be passed: pass a value as "
                                "\"constant {2}&\", memory as \"device {2}*\", a position needs its attribute",
                                parameter.name, in_quotes(type), TypeTable::name(type))};
  if (type->space == Space::Thread)
    throw Rejected{written.at,
                   base::format("parameter \"{}\" of the kernel needs an address space: device, constant or "
                                "threadgroup",
                                parameter.name)};
  if (is_absent) {
    const Type* pointer = is_reference ? table_.pointer(type->inner, type->space, type->is_const) : type;
    ir::Variable& none = local(parameter.name, pointer, build(written.at).null(pointer), written.at);
    Value value = variable_place(none, written.at);
    value.is_const = is_reference || parameter.type.is_const;
    absent_.insert(&none);
    if (is_reference) {
      settled_.insert(&none);
      value = place_at(value.ir, type->is_const);
    }
    return make_parameter(parameter, value, locals);
  }
  if (instance.function->bindings.size() >= kMaxBuffers)
    throw Rejected{written.at, base::format("a kernel has at most {} buffers and values", kMaxBuffers)};
  ir::Binding binding;
  const bool is_value = is_reference && type->space == Space::Constant;
  binding.kind = is_value
                     ? ir::BindingKind::Value
                     : (type->space == Space::Threadgroup ? ir::BindingKind::Threadgroup : ir::BindingKind::Buffer);
  binding.is_const = type->is_const || type->space == Space::Constant;
  if (const Class* made = types_.class_of(type->inner))
    binding.reports_errors = made->type->name == "c10::metal::ErrorMessages";
  if (numbered != nullptr && numbered->arguments.size() == 1) {
    const uint64_t index = constant_integer(*numbered->arguments[0], *instance.scope, "the number of a buffer");
    if (index >= kMaxBuffers)
      throw Rejected{numbered->at, base::format("buffers are numbered from 0 to {}, not {}", kMaxBuffers - 1,
                                                static_cast<int64_t>(index))};
    binding.index = static_cast<uint32_t>(index);
  } else if (binding.kind != ir::BindingKind::Threadgroup) {
    binding.index = static_cast<uint32_t>(std::ranges::find(buffers, false) - buffers.begin());
  } else {
    binding.index =
        static_cast<uint32_t>(std::ranges::count_if(instance.function->bindings, [](const ir::Binding& each) {
          return each.kind == ir::BindingKind::Threadgroup;
        }));
  }
  if (binding.kind != ir::BindingKind::Threadgroup) {
    if (buffers.size() <= binding.index) buffers.resize(binding.index + 1);
    if (buffers[binding.index])
      throw Rejected{written.at, base::format("two parameters have [[buffer({})]]", binding.index)};
    buffers[binding.index] = true;
  } else if (std::ranges::any_of(instance.function->bindings, [&](const ir::Binding& each) {
               return each.kind == binding.kind && each.index == binding.index;
             })) {
    throw Rejected{written.at, base::format("two parameters have [[threadgroup({})]]", binding.index)};
  }

  const Type* held = is_value       ? type->inner
                     : is_reference ? table_.pointer(type->inner, type->space, type->is_const)
                                    : type;
  const ir::Variable& variable = add_binding(instance, parameter, binding, held);
  Value value = variable_place(variable, written.at);
  value.is_const = is_value || parameter.type.is_const;
  value.is_constant = is_value;
  if (is_value || is_reference) settled_.insert(&variable);
  if (is_reference && !is_value) value = place_at(value.ir, type->is_const);
  make_parameter(parameter, value, locals);
}

// ---- Textures and samplers ------------------------------------------------------------------------------------------

// Textures and samplers as parameters of a kernel. library/stdlib_texture.metal defines the types.

namespace {

constexpr uint32_t kMaxTextures = 128;

TextureShape texture_shape(std::string_view symbol) {
  constexpr std::pair<std::string_view, TextureShape> kShapes[] = {{"texture1d", TextureShape::Line},
                                                                   {"texture2d", TextureShape::Plane},
                                                                   {"texture2d_array", TextureShape::Layers},
                                                                   {"texture3d", TextureShape::Volume}};
  for (const auto& [name, shape] : kShapes)
    if (symbol == name) return shape;
  return TextureShape::None;
}

}  // namespace

// The name of a struct of the standard library; empty for other types. A source may have its own types of these names.
std::string_view Lowering::library_name(const Type* type) {
  const Class* made = type->is_struct() ? types_.class_of(type) : nullptr;
  if (made == nullptr || made->symbol == nullptr || made->symbol->declaration->at.file >= context_.user_file) return {};
  return made->symbol->name;
}

bool Lowering::is_texture_or_sampler(const Type* type, ir::Binding& binding) {
  const std::string_view name = library_name(type);
  binding.kind = ir::BindingKind::Value;
  binding.is_const = true;
  binding.is_sampler = name == "sampler";
  binding.texture = texture_shape(name);
  if (binding.texture == TextureShape::None) return binding.is_sampler;
  const TemplateArguments& arguments = class_named(type)->arguments;  // the component, and the access
  binding.texture_component = arguments[0].type.type;
  binding.access = static_cast<TextureAccess>(arguments[1].value->bits & 3);
  return true;
}

void Lowering::bind_texture(FunctionInstance& instance, const Parameter& parameter, const ast::Attribute* numbered,
                            ir::Binding binding, Scope& locals) {
  const ast::Declaration& written = *parameter.declaration;
  const std::string_view kind = binding.is_sampler ? "sampler" : "texture";
  if (numbered != nullptr && numbered->name != kind)
    throw Rejected{numbered->at, base::format("parameter \"{}\" is a {}: it takes [[{}(n)]], not [[{}]]",
                                              parameter.name, kind, kind, numbered->name)};
  const auto is_like = [&](const ir::Binding& each) {
    return binding.is_sampler ? each.is_sampler : each.texture != TextureShape::None;
  };
  const std::vector<ir::Binding>& others = instance.function->bindings;
  const auto is_taken = [&](uint64_t index) {
    return std::ranges::any_of(others, [&](const ir::Binding& each) { return is_like(each) && each.index == index; });
  };
  uint64_t index = 0;
  if (numbered != nullptr && numbered->arguments.size() == 1)
    index = constant_integer(*numbered->arguments[0], *instance.scope, "the number of a texture");
  else
    while (is_taken(index)) ++index;
  if (index >= kMaxTextures)
    throw Rejected{written.at, base::format("{}s are numbered from 0 to {}, not {}", kind, kMaxTextures - 1,
                                            static_cast<int64_t>(index))};
  if (is_taken(index)) throw Rejected{written.at, base::format("two parameters have [[{}({})]]", kind, index)};
  binding.index = static_cast<uint32_t>(index);

  const ir::Variable& variable = add_binding(instance, parameter, binding, parameter.type.type);
  settled_.insert(&variable);
  Value value = variable_place(variable, written.at);
  value.is_const = true;
  make_parameter(parameter, value, locals);
}

// A texture of no pixels.
void Lowering::bind_null_texture(const Parameter& parameter, Scope& locals) {
  const Location at = parameter.declaration->at;
  const Type* type = parameter.type.type;
  Value value = variable_place(local(parameter.name, type, build(at).zero(type), at), at);
  value.is_const = true;
  make_parameter(parameter, value, locals);
}

// Only the runtime makes textures, and only for parameters: in a buffer they would be any bytes.
void Lowering::refuse_textures_in(const Type* type, Location at) {
  while (type->inner != nullptr && !type->is_vector()) type = type->inner;
  if (!type->is_struct()) return;
  if (library_name(type) == "kymo_texture")
    throw Rejected{at, "textures in structures, arrays and buffers are not supported: pass each as a parameter"};
  for (const Field& field : type->fields)
    if (!field.type->is_pointer()) refuse_textures_in(field.type, at);
}

}  // namespace kymo::shader
