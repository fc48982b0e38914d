#include "device/vulkan/spirv_reflect.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "device/vulkan/spirv_types.h"

namespace kymo::device::vulkan::spirv {
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
