#include "device/vulkan/spirv_reflect.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

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
  constexpr DType kFloats[] = {DType::F16, DType::F32, DType::F64};
  constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  const auto of_size = [&](std::span<const DType> types) -> std::optional<DType> {
    for (const DType known : types)
      if (size_of(known) * 8 == type.at(2)) return known;
    return std::nullopt;
  };
  if (type.op == Op::TypeFloat) return of_size(kFloats);
  if (type.op != Op::TypeInt) return std::nullopt;
  return type.at(3) != 0 ? of_size(kSigned) : of_size(kUnsigned);
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

namespace {

constexpr uint32_t kMaxPushBytes = 1 << 16;

struct Function {
  std::unordered_set<uint32_t> variables, calls;
  bool synchronises = false;
};

// The operands of an instruction that may be pointers to global variables.
std::span<const uint32_t> pointer_operands(const Instruction& instruction) {
  const auto words = instruction.words;
  const auto from = [&](size_t first, size_t count) {
    return first >= words.size() ? words.subspan(0, 0) : words.subspan(first, std::min(count, words.size() - first));
  };
  switch (instruction.op) {
    case Op::Load:
    case Op::AccessChain:
    case Op::InBoundsAccessChain:
    case Op::PtrAccessChain:
    case Op::InBoundsPtrAccessChain:
    case Op::ArrayLength:
    case Op::CopyObject:
    case Op::AtomicFAdd:
      return from(3, 1);
    case Op::Store:
    case Op::AtomicStore:
      return from(1, 1);
    case Op::CopyMemory:
      return from(1, 2);
    case Op::FunctionCall:
      return from(4, words.size());
    default:
      return instruction.op >= Op::AtomicLoad && instruction.op <= Op::AtomicXor ? from(3, 1) : from(0, 0);
  }
}

std::unordered_map<uint32_t, Function> functions_of(const Module& module) {
  std::unordered_map<uint32_t, Function> functions;
  Function* current = nullptr;
  for (const Instruction& instruction : module.instructions()) {
    if (instruction.op == Op::Function) current = &functions[instruction.at(2)];
    if (instruction.op == Op::FunctionEnd) current = nullptr;
    if (current == nullptr) continue;
    if (instruction.op == Op::FunctionCall) current->calls.insert(instruction.at(3));
    if (instruction.op == Op::ControlBarrier ||
        (instruction.op >= Op::GroupNonUniformElect && instruction.op <= Op::GroupNonUniformQuadSwap))
      current->synchronises = true;
    for (const uint32_t id : pointer_operands(instruction)) current->variables.insert(id);
  }
  return functions;
}

// Everything that an entry point reaches, through all its calls.
Function reached(const std::unordered_map<uint32_t, Function>& functions, uint32_t entry) {
  Function all;
  std::vector<uint32_t> pending{entry};
  all.calls.insert(entry);
  while (!pending.empty()) {
    const auto found = functions.find(pending.back());
    pending.pop_back();
    if (found == functions.end()) continue;
    all.variables.insert(found->second.variables.begin(), found->second.variables.end());
    all.synchronises |= found->second.synchronises;
    for (const uint32_t callee : found->second.calls)
      if (all.calls.insert(callee).second) pending.push_back(callee);
  }
  return all;
}

Parameter parameter_of(const Module& module, uint32_t id, const Decorations& decorations, std::string_view kernel) {
  const Instruction& type = module.definition(id);
  Parameter parameter;
  if (type.op == Op::TypePointer) {
    if (static_cast<StorageClass>(type.at(2)) != StorageClass::PhysicalStorageBuffer)
      refuse(base::format("a push constant of the kernel {} is a pointer to something other than a buffer", kernel));
    parameter.kind = ParameterKind::Buffer;
    parameter.type = pointee_type(module, type.at(3));
    parameter.bytes = sizeof(Address);
    return parameter;
  }
  const uint64_t bytes = bytes_of(module, id, decorations);
  if (bytes == 0 || bytes > kMaxPushBytes)
    refuse(base::format("a push constant of the kernel {} has an unsupported size of {} bytes", kernel, bytes));
  parameter.bytes = static_cast<uint32_t>(bytes);
  if (const auto elements = elements_of(module, id, decorations)) {
    parameter.kind = ParameterKind::Value;
    parameter.type = elements->type;
    parameter.count = elements->count;
  } else {
    parameter.kind = ParameterKind::Unknown;
  }
  return parameter;
}

// By offset.
std::vector<PushMember> members_of(const Module& module, const Instruction& structure, std::string_view kernel) {
  std::vector<PushMember> members;
  for (size_t i = 2; i < structure.size(); ++i) {
    const auto member = static_cast<uint32_t>(i - 2);
    const Decorations& decorations = module.member_decorations(structure.at(1), member);
    if (!decorations.offset) refuse(base::format("a push constant of the kernel {} has no offset", kernel));
    PushMember entry{*decorations.offset, parameter_of(module, structure.at(i), decorations, kernel)};
    entry.parameter.name = module.member_name(structure.at(1), member);
    const uint64_t end = uint64_t{entry.offset} + entry.parameter.bytes;
    if (end > kMaxPushBytes)
      refuse(base::format("the kernel {} has too many bytes of push constants: {}", kernel, end));
    members.push_back(std::move(entry));
  }
  std::ranges::stable_sort(members, {}, &PushMember::offset);
  return members;
}

class KernelReader {
 public:
  KernelReader(const Module& module, const Function& reached, bool alone)
      : module_(module), reached_(reached), alone_(alone) {}

  Kernel read(uint32_t entry_point) {
    const EntryPoint& entry = module_.entry_points()[entry_point];
    kernel_.name = entry.name;
    kernel_.entry_point = entry_point;
    kernel_.groups_visible = reached_.synchronises;
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.op == Op::Function) break;
      if (instruction.op == Op::Variable) variable(instruction);
    }
    for (auto& [place, binding] : bindings_) kernel_.bindings.push_back(std::move(binding));
    read_group(entry);
    return std::move(kernel_);
  }

 private:
  void variable(const Instruction& instruction) {
    const uint32_t id = instruction.at(2);
    const bool used = reached_.variables.contains(id);
    const auto storage = static_cast<StorageClass>(instruction.at(3));
    const Instruction& pointer = module_.definition(instruction.at(1));
    if (pointer.op != Op::TypePointer) refuse(base::format("the variable {} is not of a pointer type", id));
    const uint32_t pointee = pointer.at(3);
    switch (storage) {
      case StorageClass::Input:
        if (used) built_in(id);
        break;
      case StorageClass::Workgroup:
        if (!alone_ && !used) break;
        kernel_.group_memory += bytes_of(module_, pointee, {});
        kernel_.groups_visible = true;
        break;
      case StorageClass::PushConstant:
        if (alone_ || used) push_constants(id, pointee);
        break;
      case StorageClass::StorageBuffer:
      case StorageClass::Uniform:
        if (alone_ || used) buffer(id, pointee, storage);
        break;
      case StorageClass::UniformConstant:
        if (alone_ || used) no_such_binding(id, "an image or a sampler");
        break;
      default:
        break;
    }
  }

  void built_in(uint32_t id) {
    const auto which = module_.decorations(id).built_in;
    if (which && *which != static_cast<uint32_t>(BuiltIn::GlobalInvocationId)) kernel_.groups_visible = true;
  }

  [[noreturn]] void no_such_binding(uint32_t id, std::string_view what) const {
    const Decorations& decorations = module_.decorations(id);
    const std::string_view name = module_.name(id);
    refuse(base::format("the kernel {} has {} at set {}, binding {}{}: only storage and uniform buffers are supported",
                        kernel_.name, what, decorations.set.value_or(0), decorations.binding.value_or(0),
                        name.empty() ? "" : base::format(" ({})", name)));
  }

  void buffer(uint32_t id, uint32_t pointee, StorageClass storage) {
    const Instruction& type = module_.definition(pointee);
    if (type.op == Op::TypeArray || type.op == Op::TypeRuntimeArray) no_such_binding(id, "an array of buffers");
    if (type.op != Op::TypeStruct) no_such_binding(id, "a binding that is not a block");
    const Decorations& decorations = module_.decorations(id);
    Binding binding;
    binding.set = decorations.set.value_or(0);
    binding.binding = decorations.binding.value_or(0);
    binding.uniform = storage == StorageClass::Uniform && !module_.decorations(pointee).buffer_block;
    binding.parameter.kind = ParameterKind::Buffer;
    binding.parameter.type = pointee_type(module_, pointee);
    // `buffer X { float x[]; };` has no variable name, but its only member has a name.
    std::string_view name = module_.name(id);
    if (name.empty() && type.size() == 3) name = module_.member_name(pointee, 0);
    if (name.empty()) name = module_.name(pointee);
    binding.parameter.name = name;
    // Two blocks may share a binding, to read one buffer as two types. That is one parameter without a single type.
    const auto [place, added] = bindings_.try_emplace(std::pair(binding.set, binding.binding), binding);
    if (!added && place->second.parameter.type != binding.parameter.type) place->second.parameter.type.reset();
  }

  void push_constants(uint32_t id, uint32_t structure) {
    if (kernel_.push_variable != 0)
      refuse(base::format("the kernel {} has two blocks of push constants", kernel_.name));
    const Instruction& type = module_.definition(structure);
    if (type.op != Op::TypeStruct)
      refuse(base::format("the push constants of the kernel {} are not a block", kernel_.name));
    kernel_.push_variable = id;
    kernel_.members = members_of(module_, type, kernel_.name);
    for (const PushMember& member : kernel_.members)
      kernel_.push_bytes = std::max(kernel_.push_bytes, member.offset + member.parameter.bytes);
  }

  // A kernel without a declared size has 1 × 1 × 1 in SPIR-V. That is never intended, so it means any size.
  void read_group(const EntryPoint& entry) {
    std::array<std::optional<uint32_t>, 3> sizes;
    bool specialised = false;
    const auto take = [&](size_t axis, uint32_t id) {
      sizes[axis] = constant_value(module_, id);
      const Op op = module_.definition(id).op;
      specialised |= op == Op::SpecConstant || op == Op::SpecConstantOp;
    };
    std::copy(entry.local_size.begin(), entry.local_size.end(), sizes.begin());
    if (entry.local_size_ids)
      for (size_t i = 0; i < 3; ++i) take(i, (*entry.local_size_ids)[i]);
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.op == Op::Function) break;
      if (instruction.op != Op::ConstantComposite && instruction.op != Op::SpecConstantComposite) continue;
      if (module_.decorations(instruction.at(2)).built_in != static_cast<uint32_t>(BuiltIn::WorkgroupSize)) continue;
      for (size_t i = 0; i < 3; ++i) take(i, instruction.at(3 + i));
      // Its value depends on the group size.
      if (instruction.op == Op::SpecConstantComposite) kernel_.groups_visible = true;
    }
    kernel_.group = {sizes[0].value_or(1), sizes[1].value_or(1), sizes[2].value_or(1)};
    for (const uint64_t size : {kernel_.group.x, kernel_.group.y, kernel_.group.z})
      if (size == 0 || size > 0xFFFF)
        refuse(base::format("the kernel {} has a group size that is out of range: {}", kernel_.name, size));
    kernel_.any_group = specialised || kernel_.group == Extent{1, 1, 1};
  }

  const Module& module_;
  const Function& reached_;
  const bool alone_;
  Kernel kernel_;
  std::map<std::pair<uint32_t, uint32_t>, Binding> bindings_;
};

}  // namespace

std::vector<Kernel> reflect(const Module& module, bool several) {
  const auto functions = functions_of(module);
  std::vector<Kernel> kernels;
  const bool alone = !several && module.entry_points().size() == 1;
  for (uint32_t i = 0; i < module.entry_points().size(); ++i) {
    const EntryPoint& entry = module.entry_points()[i];
    if (!functions.contains(entry.function)) refuse(base::format("the kernel {} has no function", entry.name));
    kernels.push_back(KernelReader(module, reached(functions, entry.function), alone).read(i));
  }
  if (kernels.empty()) refuse("it has no entry point for compute (GLCompute)");
  return kernels;
}

std::vector<PushMember> block_members(const Module& module, const Kernel& kernel) {
  if (kernel.members.size() != 1 || kernel.members[0].offset != 0) return {};
  const Instruction& constants =
      module.definition(module.definition(module.definition(kernel.push_variable).at(1)).at(3));
  const Instruction& pointer = module.definition(constants.at(2));
  if (pointer.op != Op::TypePointer) return {};
  const Instruction& block = module.definition(pointer.at(3));
  return block.op == Op::TypeStruct ? members_of(module, block, kernel.name) : std::vector<PushMember>();
}

}  // namespace kymo::device::vulkan::spirv
