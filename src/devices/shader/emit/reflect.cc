#include "shader/emit/reflect.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "shader/emit/names.h"
#include "shader/ir/uses.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kReflectAddressBytes = 8;

uint64_t reflect_round_up(uint64_t size, uint64_t align) { return (size + align - 1) / align * align; }

uint32_t reflect_clamped(uint64_t size) {
  return static_cast<uint32_t>(std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
}

// A type seen as a row of equal things: numbers of one kind, or addresses.
struct ReflectRow {
  TypeKind of = TypeKind::Void;  // Pointer: addresses. Void: not such a row
  uint64_t count = 0;
  bool is_of_threes = false;  // an array or a matrix of vectors of 3, which take the space of 4
};

// Each type is looked at once, however often it is part of others.
class ReflectRows {
 public:
  ReflectRow of(const Type* type) {
    const auto known = rows_.find(type);
    if (known != rows_.end()) return known->second;
    const ReflectRow row = find(type);
    rows_.emplace(type, row);
    return row;
  }

 private:
  ReflectRow find(const Type* type) {
    switch (type->kind) {
      case TypeKind::Pointer:
        return {TypeKind::Pointer, 1};
      case TypeKind::Atomic:
        return of(type->inner);
      case TypeKind::Vector:
        return {type->inner->kind, type->count, type->count == 3 && type->size == 4 * type->inner->size};
      case TypeKind::Array: {
        const ReflectRow element = of(type->inner);
        return {element.of, element.count * type->count, element.is_of_threes};
      }
      case TypeKind::Struct: {
        ReflectRow whole;
        for (const Field& field : type->fields) {
          const ReflectRow part = of(field.type);
          if (part.of == TypeKind::Void || (whole.count != 0 && part.of != whole.of)) return {};
          whole = {part.of, whole.count + part.count, part.is_of_threes && type->fields.size() == 1};
        }
        return whole;
      }
      default:
        return {type->is_scalar() ? type->kind : TypeKind::Void, 1};
    }
  }

  std::unordered_map<const Type*, ReflectRow> rows_;
};

// The public kinds of numbers are in the order of the translator's.
Scalar reflect_scalar(TypeKind kind) {
  static_assert(static_cast<int>(Scalar::Bool) == static_cast<int>(TypeKind::Bool));
  static_assert(static_cast<int>(Scalar::ULong) == static_cast<int>(TypeKind::ULong));
  static_assert(static_cast<int>(Scalar::Float) == static_cast<int>(TypeKind::Float));
  return kind <= TypeKind::Float ? static_cast<Scalar>(kind) : Scalar::None;
}

void reflect_type(KernelParameter& parameter, const Type* type) {
  parameter.bytes = reflect_clamped(type->size);
  parameter.align = type->align;
  const ReflectRow row = ReflectRows().of(type);
  if (row.of == TypeKind::Void) return;
  const uint64_t places = row.is_of_threes ? row.count / 3 * 4 : row.count;
  const uint64_t bytes = row.of == TypeKind::Pointer ? kReflectAddressBytes : scalar_bytes(row.of);
  if (!type->is_vector() && places * bytes != type->size) return;
  parameter.count = reflect_clamped(row.count);
  if (row.of == TypeKind::Pointer)
    parameter.is_addresses = true;
  else
    parameter.scalar = reflect_scalar(row.of);
}

// The variable whose memory a pointer leads to, if that can be seen without following other variables. Null: not known.
const ir::Variable* reflect_root(const ir::Expression* pointer) {
  while (true) {
    switch (pointer->kind) {
      case ir::ExpressionKind::Variable:
        return pointer->variable;
      case ir::ExpressionKind::PointerAdd:
      case ir::ExpressionKind::PointerCast:
        pointer = pointer->operands[0];
        break;
      case ir::ExpressionKind::AddressOf:
      case ir::ExpressionKind::Decay: {
        const ir::Expression& root = ir::place_root(*pointer->operands[0]);
        if (root.kind != ir::ExpressionKind::Dereference) return nullptr;
        pointer = root.operands[0];
        break;
      }
      default:
        return nullptr;
    }
  }
}

// The pointers through which the function itself writes: `out[i] = …`, and atomic operations.
std::unordered_set<const ir::Variable*> reflect_written(const ir::Function& kernel) {
  std::unordered_set<const ir::Variable*> written;
  ir::for_each_statement(kernel.body, [&](const ir::Statement& statement) {
    if (statement.kind != ir::StatementKind::Assign) return;
    const ir::Expression& root = ir::place_root(*statement.place);
    if (root.kind == ir::ExpressionKind::Dereference) written.insert(reflect_root(root.operands[0]));
  });
  ir::for_each_expression(kernel.body, [&](const ir::Expression& expression) {
    if (expression.kind == ir::ExpressionKind::Intrinsic && expression.intrinsic > ir::Intrinsic::AtomicLoad &&
        expression.intrinsic <= ir::Intrinsic::AtomicMax)
      written.insert(reflect_root(expression.operands[0]));
  });
  return written;
}

std::string reflect_texture_type(const ir::Binding& binding) {
  constexpr std::string_view kShapes[] = {"", "texture1d", "texture2d", "texture2d_array", "texture3d"};
  constexpr std::string_view kAccess[] = {"", ", access::read", ", access::write", ", access::read_write"};
  return base::format("{}<{}{}>", kShapes[static_cast<size_t>(binding.texture)],
                      TypeTable::name(binding.texture_component), kAccess[static_cast<size_t>(binding.access)]);
}

KernelParameter reflect_texture(KernelParameter parameter, const ir::Binding& binding) {
  const Type* type = binding.variable->type;
  parameter.kind = KernelParameter::Kind::Texture;
  parameter.type = reflect_texture_type(binding);
  parameter.texture = binding.texture;
  parameter.access = binding.access;
  parameter.scalar = reflect_scalar(binding.texture_component->kind);
  parameter.bytes = reflect_clamped(type->size);
  parameter.align = type->align;
  parameter.is_const = binding.access == TextureAccess::Sample || binding.access == TextureAccess::Read;
  pass_inline(parameter);
  return parameter;
}

KernelParameter reflect_parameter(const ir::Binding& binding) {
  KernelParameter parameter;
  const Type* type = binding.variable->type;
  parameter.name = binding.variable->name;
  parameter.index = binding.index;
  parameter.reports_errors = binding.reports_errors;
  parameter.is_const = binding.is_const;
  if (binding.texture != TextureShape::None) return reflect_texture(std::move(parameter), binding);
  if (binding.kind == ir::BindingKind::Value) {
    parameter.kind = binding.is_sampler ? KernelParameter::Kind::Sampler : KernelParameter::Kind::Value;
    parameter.type = binding.is_sampler ? "sampler" : "constant " + TypeTable::name(type) + "&";
    parameter.is_const = true;
    reflect_type(parameter, type);
    pass_inline(parameter);
    return parameter;
  }
  parameter.type = TypeTable::name(type);
  reflect_type(parameter, type->inner);
  if (binding.kind == ir::BindingKind::Threadgroup) {
    parameter.kind = KernelParameter::Kind::Threadgroup;
    parameter.passing = Passing::Group;
  }
  return parameter;
}

// `seen`: the structures without one.
bool holds_simdgroup_matrix(const Type* type, std::unordered_set<const Type*>& seen) {
  while (type->is_array()) type = type->inner;
  if (!type->is_struct() || !seen.insert(type).second) return false;
  return type->name.starts_with("metal::simdgroup_matrix<") ||
         std::ranges::any_of(type->fields, [&](const Field& f) { return holds_simdgroup_matrix(f.type, seen); });
}

// The kernel and the functions it calls.
struct ReflectFacts {
  uint64_t group_memory = 0;
  bool uses_simdgroups = false, uses_simdgroup_matrices = false;
};

ReflectFacts reflect_facts(const ir::Function& kernel) {
  ReflectFacts facts;
  std::unordered_set<const Type*> plain_structures;
  std::unordered_set<const ir::Function*> seen{&kernel};
  std::vector<const ir::Function*> open{&kernel};
  while (!open.empty()) {
    const ir::Function* function = open.back();
    open.pop_back();
    ir::for_each_statement(function->body, [&](const ir::Statement& statement) {
      if (statement.kind != ir::StatementKind::Declare) return;
      const ir::Variable& variable = *statement.variable;
      if (!facts.uses_simdgroup_matrices)
        facts.uses_simdgroup_matrices = holds_simdgroup_matrix(variable.type, plain_structures);
      if (variable.space != Space::Threadgroup) return;
      facts.group_memory = reflect_round_up(facts.group_memory, variable.type->align);
      facts.group_memory += variable.type->size;
    });
    ir::for_each_expression(function->body, [&](const ir::Expression& expression) {
      if (expression.kind == ir::ExpressionKind::Intrinsic)
        facts.uses_simdgroups |= ir::is_of_simdgroups(expression.intrinsic);
      if (expression.kind == ir::ExpressionKind::Call && seen.insert(expression.function).second)
        open.push_back(expression.function);
    });
  }
  return facts;
}

}  // namespace

void pass_inline(KernelParameter& parameter) {
  const uint32_t align = std::max(kReflectAddressBytes, parameter.align);
  parameter.passing = Passing::Inline;
  parameter.value_offset = align;
  parameter.inline_bytes = reflect_clamped(reflect_round_up(uint64_t{align} + parameter.bytes, align));
}

Kernel reflect(const ir::Module&, const ir::Function& kernel) {
  Kernel described;
  described.name = kernel.host_name.empty() ? kernel.name : kernel.host_name;
  described.symbol = legal_name(described.name);
  const auto written = reflect_written(kernel);
  for (const ir::Binding& binding : kernel.bindings) {
    described.parameters.push_back(reflect_parameter(binding));
    described.parameters.back().is_written = written.contains(binding.variable) ||
                                             binding.access == TextureAccess::Write ||
                                             binding.access == TextureAccess::ReadWrite;
  }
  const ReflectFacts facts = reflect_facts(kernel);
  described.group_memory = reflect_clamped(facts.group_memory);
  described.uses_simdgroups = facts.uses_simdgroups;
  described.uses_simdgroup_matrices = facts.uses_simdgroup_matrices;
  described.max_threads = kernel.max_threads;
  return described;
}

}  // namespace kymo::shader
