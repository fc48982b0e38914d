#include "device/vulkan/spirv_types.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace kymo::device::vulkan::spirv {
namespace {

// Types of a malicious module may contain themselves, or each other many times. Real types do not.
constexpr int kDeepest = 32, kMaxSteps = 100'000;
constexpr uint32_t kLongestArray = 1u << 30;
constexpr uint64_t kAddressBytes = 8;

// The depth of a walk, and the number of its steps so far.
class Depth {
 public:
  explicit Depth(int& steps) : steps_(&steps) {}
  Depth deeper() const {
    if (level_ == kDeepest) refuse(base::format("a type is nested more than {} deep", kDeepest));
    if (++*steps_ > kMaxSteps) refuse(base::format("a type has more than {} parts", kMaxSteps));
    Depth next = *this;
    ++next.level_;
    return next;
  }

 private:
  int level_ = 0;
  int* steps_;
};

std::optional<uint32_t> value_at(const Module& module, uint32_t id, const Depth& depth) {
  const Instruction* constant = module.find(id);
  if (constant == nullptr) return std::nullopt;
  switch (constant->op) {
    case Op::Constant:
    case Op::SpecConstant:
      return constant->at(3);
    case Op::ConstantNull:
      return 0;
    case Op::SpecConstantOp:
      break;
    default:
      return std::nullopt;
  }
  const Op operation = static_cast<Op>(constant->at(3));
  if (operation == Op::CompositeExtract) {
    const Instruction* composite = module.find(constant->at(4));
    if (composite == nullptr ||
        (composite->op != Op::ConstantComposite && composite->op != Op::SpecConstantComposite) || constant->size() != 6)
      return std::nullopt;
    const uint64_t part = uint64_t{constant->at(5)} + 3;
    if (part >= composite->size()) return std::nullopt;
    return value_at(module, composite->at(part), depth.deeper());
  }
  if (constant->size() != 6) return std::nullopt;
  const auto left = value_at(module, constant->at(4), depth.deeper());
  const auto right = value_at(module, constant->at(5), depth.deeper());
  if (!left || !right) return std::nullopt;
  switch (operation) {
    case Op::IAdd:
      return *left + *right;
    case Op::ISub:
      return *left - *right;
    case Op::IMul:
      return *left * *right;
    case Op::UDiv:
      return *right == 0 ? std::nullopt : std::optional(*left / *right);
    default:
      return std::nullopt;
  }
}

std::optional<DType> scalar_of(const Instruction& type) {
  const uint32_t bits = type.op == Op::TypeInt || type.op == Op::TypeFloat ? type.at(2) : 0;
  if (type.op == Op::TypeFloat) {
    switch (bits) {
      case 16:
        return DType::F16;
      case 32:
        return DType::F32;
      case 64:
        return DType::F64;
      default:
        return std::nullopt;
    }
  }
  if (type.op != Op::TypeInt) return std::nullopt;
  const bool is_signed = type.at(3) != 0;
  switch (bits) {
    case 8:
      return is_signed ? DType::I8 : DType::U8;
    case 16:
      return is_signed ? DType::I16 : DType::U16;
    case 32:
      return is_signed ? DType::I32 : DType::U32;
    case 64:
      return is_signed ? DType::I64 : DType::U64;
    default:
      return std::nullopt;
  }
}

uint32_t array_length(const Module& module, const Instruction& array) {
  const uint32_t length = constant_value(module, array.at(3)).value_or(0);
  if (length > kLongestArray) refuse(base::format("an array of {} elements is too long", length));
  return length;
}

std::optional<Elements> elements_at(const Module& module, uint32_t id, const Decorations& decorations,
                                    const Depth& depth) {
  const Instruction& type = module.definition(id);
  if (const auto scalar = scalar_of(type)) return Elements{*scalar, 1};
  if (type.op != Op::TypeVector && type.op != Op::TypeMatrix && type.op != Op::TypeArray) return std::nullopt;

  const auto part = elements_at(module, type.at(2), decorations, depth.deeper());
  if (!part) return std::nullopt;
  const uint64_t part_bytes = part->count * size_of(part->type);
  // There may be gaps between the columns of a matrix or the elements of an array. Then it is not a list of scalars.
  if (type.op == Op::TypeMatrix && decorations.matrix_stride.value_or(part_bytes) != part_bytes) return std::nullopt;
  if (type.op == Op::TypeArray && module.decorations(id).array_stride.value_or(part_bytes) != part_bytes)
    return std::nullopt;
  const uint64_t count = type.op == Op::TypeArray ? array_length(module, type) : type.at(3);
  if (count * part->count > kLongestArray) return std::nullopt;
  return Elements{part->type, static_cast<uint32_t>(count * part->count)};
}

struct Layout {
  uint64_t bytes = 0, alignment = 1;
};

Layout layout_at(const Module& module, uint32_t id, const Decorations& decorations, const Depth& depth);

Layout structure_layout(const Module& module, uint32_t id, const Instruction& type, const Depth& depth) {
  Layout whole;
  for (size_t i = 2; i < type.size(); ++i) {
    const auto member = static_cast<uint32_t>(i - 2);
    const Decorations& of_member = module.member_decorations(id, member);
    const Layout part = layout_at(module, type.at(i), of_member, depth.deeper());
    const uint64_t packed = (whole.bytes + part.alignment - 1) / part.alignment * part.alignment;
    whole.bytes = std::max(whole.bytes, of_member.offset.value_or(packed) + part.bytes);
    whole.alignment = std::max(whole.alignment, part.alignment);
  }
  return whole;
}

Layout layout_at(const Module& module, uint32_t id, const Decorations& decorations, const Depth& depth) {
  const Instruction& type = module.definition(id);
  switch (type.op) {
    case Op::TypeBool:
      return {4, 4};
    case Op::TypePointer:
      return {kAddressBytes, kAddressBytes};
    case Op::TypeRuntimeArray:
      return {0, 1};
    case Op::TypeStruct:
      return structure_layout(module, id, type, depth);
    case Op::TypeVector:
    case Op::TypeMatrix:
    case Op::TypeArray: {
      const Layout part = layout_at(module, type.at(2), decorations, depth.deeper());
      uint64_t stride = (part.bytes + part.alignment - 1) / part.alignment * part.alignment;
      if (type.op == Op::TypeArray) stride = module.decorations(id).array_stride.value_or(stride);
      if (type.op == Op::TypeMatrix) stride = decorations.matrix_stride.value_or(stride);
      const uint64_t count = type.op == Op::TypeArray ? array_length(module, type) : type.at(3);
      if (stride > kLongestArray || count * stride > std::numeric_limits<uint32_t>::max())
        refuse("a type is larger than 4 GiB");
      return {count * stride, part.alignment};
    }
    default:
      break;
  }
  const auto scalar = scalar_of(type);
  if (!scalar) refuse(base::format("a type with opcode {} has no size in memory", static_cast<int>(type.op)));
  return {size_of(*scalar), size_of(*scalar)};
}

}  // namespace

std::optional<uint32_t> constant_value(const Module& module, uint32_t id) {
  int steps = 0;
  return value_at(module, id, Depth(steps));
}

std::optional<Elements> elements_of(const Module& module, uint32_t type, const Decorations& decorations) {
  int steps = 0;
  return elements_at(module, type, decorations, Depth(steps));
}

uint64_t bytes_of(const Module& module, uint32_t type, const Decorations& decorations) {
  int steps = 0;
  return layout_at(module, type, decorations, Depth(steps)).bytes;
}

std::optional<DType> pointee_type(const Module& module, uint32_t structure) {
  const Instruction& type = module.definition(structure);
  uint32_t element = structure;
  if (type.op == Op::TypeStruct) {
    if (type.size() != 3) return std::nullopt;
    element = type.at(2);
  }
  const Instruction& content = module.definition(element);
  if (content.op == Op::TypeRuntimeArray) element = content.at(2);
  const auto elements = elements_of(module, element, {});
  return elements ? std::optional(elements->type) : std::nullopt;
}

}  // namespace kymo::device::vulkan::spirv
