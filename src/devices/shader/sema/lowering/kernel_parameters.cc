// Parameters of a kernel: memory and values from the caller, and the position of the thread.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kMaxBuffers = 4096;
constexpr uint32_t kSimdWidth = 32;

// Attributes that do not change where a parameter comes from.
bool parameter_is_silent(std::string_view attribute) {
  return attribute == "maybe_unused" || attribute == "buffer" || attribute == "threadgroup" || attribute == "id" ||
         attribute == "texture" || attribute == "sampler";
}

}  // namespace

const ir::Expression* Lowering::position(std::string_view name, Location at) {
  using ir::Intrinsic;
  ir::Builder& make = build(at);
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
  if (name == "thread_position_in_grid") return make.intrinsic(Intrinsic::GridPosition);
  if (name == "thread_position_in_threadgroup") return make.intrinsic(Intrinsic::GroupPosition);
  if (name == "threadgroup_position_in_grid") return make.intrinsic(Intrinsic::GroupIndex);
  if (name == "threads_per_grid" || name == "grid_size") return make.intrinsic(Intrinsic::GridSize);
  if (name == "threads_per_threadgroup") return make.intrinsic(Intrinsic::GroupSize);
  if (name == "dispatch_threads_per_threadgroup") return make.intrinsic(Intrinsic::FullGroupSize);
  if (name == "threadgroups_per_grid") return make.intrinsic(Intrinsic::GroupCount);
  if (name == "grid_origin") return make.zero(table_.vector(table_.get(TypeKind::UInt), 3));
  if (name == "thread_index_in_threadgroup") return index_in_group();
  if (name == "thread_index_in_simdgroup") return make.intrinsic(Intrinsic::SimdLane);
  if (name == "simdgroup_index_in_threadgroup") return make.intrinsic(Intrinsic::SimdIndex);
  if (name == "threads_per_simdgroup" || name == "thread_execution_width") return make.constant_uint(kSimdWidth);
  if (name == "simdgroups_per_threadgroup") return in_groups_of(product(Intrinsic::GroupSize), kSimdWidth);
  if (name == "dispatch_simdgroups_per_threadgroup") return in_groups_of(product(Intrinsic::FullGroupSize), kSimdWidth);
  if (name == "quadgroups_per_threadgroup") return in_groups_of(product(Intrinsic::GroupSize), 4);
  if (name == "dispatch_quadgroups_per_threadgroup") return in_groups_of(product(Intrinsic::FullGroupSize), 4);
  if (name == "thread_index_in_quadgroup")
    return make.binary(ir::Operator::And, make.intrinsic(Intrinsic::SimdLane), make.constant_uint(3));
  if (name == "quadgroup_index_in_threadgroup")
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
  Value value = rvalue(build(attribute.at).variable(variable), type);
  value.is_place = true;
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
    if (!parameter_is_silent(attribute.name))
      throw Rejected{attribute.at, base::format("the attribute [[{}]] of parameter \"{}\" is not supported",
                                                attribute.name, parameter.name)};
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
    Value value = rvalue(build(written.at).variable(none), pointer);
    value.is_place = true;
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
    binding.index = static_cast<uint32_t>(std::find(buffers.begin(), buffers.end(), false) - buffers.begin());
  } else {
    binding.index = static_cast<uint32_t>(
        std::count_if(instance.function->bindings.begin(), instance.function->bindings.end(),
                      [](const ir::Binding& each) { return each.kind == ir::BindingKind::Threadgroup; }));
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
  ir::Variable& variable = module_.make_variable(std::string(parameter.name), held);
  variable.is_parameter = true;
  binding.variable = &variable;
  instance.function->parameters.push_back(&variable);
  instance.function->bindings.push_back(binding);
  Value value = rvalue(build(written.at).variable(variable), held);
  value.is_place = true;
  value.is_const = is_value || parameter.type.is_const;
  value.is_constant = is_value;
  if (is_value || is_reference) settled_.insert(&variable);
  if (is_reference && !is_value) value = place_at(value.ir, type->is_const);
  make_parameter(parameter, value, locals);
}

}  // namespace kymo::shader
