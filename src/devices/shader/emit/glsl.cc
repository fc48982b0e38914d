// A module as GLSL 4.50 for Vulkan 1.2, with buffer references.

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "shader/emit/emit.h"
#include "shader/emit/glsl_memory.h"
#include "shader/emit/glsl_writer.h"
#include "shader/emit/reflect.h"

namespace kymo::shader {
namespace {

// A module as GLSL 4.50 for Vulkan 1.2, with buffer references.

using namespace glsl;

// ---- Kernels: how they take their arguments -------------------------------------------------------------------------
//
//   layout(push_constant, scalar) uniform scale_arguments {
//     uint64_t x;          // Passing::Address
//     uint factor_in[4];   // Passing::Inline: its address, or 0 and then the value
//     uint kymo_grid[6];   // if the kernel reads the grid
//   } arguments;
//   layout(constant_id = 3) const uint tile_count = 1;   // Passing::Group: number of elements, one constant for each
//   shared float tile_memory[tile_count];
//   void scale() { … }
//
// If the push constants have more than 92 bytes, they are in memory, and the only push constant is their address:
//
//   layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer scale_arguments {
//     uint64_t x;
//     layout(offset = 16) uint64_t factor_in[4];   // aligned, so that the value can be read like any other
//     …
//   };
//   layout(push_constant, scalar) uniform scale_block { scale_arguments arguments; };

constexpr uint32_t kAddressBytes = 8;
constexpr uint32_t kGridWords = 6;
constexpr uint32_t kFirstGroupConstant = 3;

// Every device has space for 128 bytes of push constants. A caller may need three uint3 of them, for the position of a
// part of the grid.
constexpr uint32_t kPushBytes = 128 - 3 * 12;
// Space for the addresses of all arguments that a kernel may have.
constexpr uint32_t kBlockBytes = 1 << 16;

// Where the arguments are in a block.
class ArgumentLayout {
 public:
  explicit ArgumentLayout(const Kernel& kernel) {
    for (const KernelParameter& parameter : kernel.parameters) offsets_.push_back(add(parameter));
    if (kernel.takes_grid) add(kGridWords * sizeof(uint32_t), sizeof(uint32_t));
  }

  uint64_t operator[](size_t parameter) const { return offsets_[parameter]; }
  uint64_t bytes() const { return bytes_; }
  bool fits_push_constants() const { return pushed_bytes_ <= kPushBytes; }  // where values are not aligned

 private:
  uint64_t add(const KernelParameter& parameter) {
    switch (parameter.passing) {
      case Passing::Address:
        return add(kAddressBytes, kAddressBytes);
      case Passing::Inline:
        return add(parameter.inline_bytes, parameter.value_offset);  // which is the alignment of the value
      case Passing::Group:
        break;
    }
    return bytes_;
  }

  uint64_t add(uint64_t bytes, uint64_t align) {
    const uint64_t offset = (bytes_ + align - 1) / align * align;
    bytes_ = offset + bytes;
    pushed_bytes_ += bytes;
    return offset;
  }

  std::vector<uint64_t> offsets_;
  uint64_t bytes_ = 0, pushed_bytes_ = 0;
};

class KernelWriter {
 public:
  KernelWriter(Unit& unit, Memory& memory, Instance& instance, const Kernel& kernel)
      : unit_(unit),
        memory_(memory),
        instance_(instance),
        kernel_(kernel),
        layout_(kernel),
        is_block_(!layout_.fits_push_constants()),
        writer_(unit, memory, instance) {}

  void write() {
    unit_.at = instance_.function->at;
    const auto& bindings = instance_.function->bindings;
    name_members();
    writer_.enter();
    for (size_t i = 0; i < bindings.size(); ++i) take(bindings[i], i);
    if (kernel_.takes_grid) members_ += base::format("  uint kymo_grid[{}];\n", kGridWords);
    writer_.body();
    writer_.leave();
    declare_arguments();
    unit_.add_function(base::format("void {}() {{\n{}}}\n", kernel_.symbol, writer_.take_text()), &instance_.kernels);
  }

 private:
  // They have their names for themselves.
  void name_members() {
    Names names(reserved_words());
    for (const KernelParameter& parameter : kernel_.parameters)
      member_names_.push_back(
          names.take(parameter.passing == Passing::Inline ? parameter.name + "_in" : parameter.name));
  }

  void declare_arguments() {
    if (members_.empty()) return;
    const std::string name = unit_.names.take_outermost(kernel_.symbol + "_arguments");
    std::string text = base::format("layout(push_constant, scalar) uniform {} {{\n{}}} arguments;\n", name, members_);
    if (is_block_)
      text = base::format(
          "layout(buffer_reference, scalar, buffer_reference_align = {}) readonly buffer {} {{\n{}}};\n"
          "layout(push_constant, scalar) uniform {} {{ {} arguments; }};\n",
          kAddressBytes, name, members_, unit_.names.take_outermost(kernel_.symbol + "_block"), name);
    unit_.add_global(std::move(text), &instance_.kernels);
  }

  void take(const ir::Binding& binding, size_t number) {
    Cell& cell = writer_.cell(*binding.variable);
    const KernelParameter& parameter = kernel_.parameters[number];
    const std::string& name = binding.variable->name;
    const std::string& member_name = member_names_[number];
    switch (parameter.passing) {
      case Passing::Address: {
        const std::string member = "arguments." + member_name;
        members_ += base::format("  uint64_t {};\n", member_name);
        if (binding.kind == ir::BindingKind::Value)
          take_by_address(cell, member);
        else
          writer_.begin(cell, {member});
        return;
      }
      case Passing::Inline: {
        if (is_block_) return take_from_block(cell, number);
        const std::string words = "arguments." + member_name;
        members_ += base::format("  uint {}[{}];\n", member_name, parameter.inline_bytes / 4);
        unit_.prelude.use("wide");
        const std::string address = unit_.names.take(name + "_at");
        writer_.line(base::format("uint64_t {} = kymo_wide({}[0], {}[1]);", address, words, words));
        writer_.begin(
            cell,
            {base::format("{} != 0ul ? {} : {}", address, memory_.load(cell.type, {address}).text,
                          operand(memory_.get(cell.type, {words, parameter.value_offset, {}}), Level::Conditional))});
        return;
      }
      case Passing::Group:
        take_group(cell, unit_.resolver.memory(*binding.variable));
    }
  }

  // It has an address like any other value in memory.
  void take_from_block(Cell& cell, size_t number) {
    const KernelParameter& parameter = kernel_.parameters[number];
    const std::string& name = member_names_[number];
    members_ += base::format("  layout(offset = {}) uint64_t {}[{}];\n", layout_[number], name,
                             parameter.inline_bytes / kAddressBytes);
    take_by_address(cell, base::format("arguments.{0}[0] != 0ul ? arguments.{0}[0] : uint64_t(arguments) + {1}", name,
                                       glsl::number(layout_[number] + parameter.value_offset)));
  }

  // A large value is not copied unless a pointer refers to it.
  void take_by_address(Cell& cell, const std::string& member) {
    const std::string address = unit_.names.take(cell.variable->name + "_at");
    writer_.line(base::format("uint64_t {} = {};", address, member));
    if (cell.is_rooted || cell.type->is_number())
      writer_.begin(cell, memory_.load(cell.type, {address}));
    else
      cell.address = address;
  }

  void take_group(Cell& cell, const Cell& memory) {
    const std::string count = unit_.names.take_outermost(cell.variable->name + "_count");
    const std::string length = memory.is_words ? base::format("({} * {}u + 3u) / 4u", count, memory.type->size) : count;
    unit_.add_global(base::format("layout(constant_id = {}) const uint {} = 1;\n{}[{}];\n",
                                  kFirstGroupConstant + groups_++, count, unit_.declaration(memory), length),
                     &instance_.kernels);
    writer_.begin(cell, {"0"});
  }

  Unit& unit_;
  Memory& memory_;
  Instance& instance_;
  const Kernel& kernel_;
  const ArgumentLayout layout_;
  const bool is_block_;
  Writer writer_;
  std::vector<std::string> member_names_;
  std::string members_;
  uint32_t groups_ = 0;
};

// Chooses the values that are passed by address because all arguments would take more than 64 KiB.
void fit_arguments(Kernel& kernel) {
  if (ArgumentLayout(kernel).bytes() <= kBlockBytes) return;
  std::vector<KernelParameter*> values;
  for (KernelParameter& parameter : kernel.parameters)
    if (parameter.passing == Passing::Inline) values.push_back(&parameter);
  std::ranges::stable_sort(values, std::ranges::greater(), &KernelParameter::inline_bytes);
  for (KernelParameter* largest : values) {
    largest->passing = Passing::Address;
    largest->inline_bytes = largest->value_offset = 0;
    if (ArgumentLayout(kernel).bytes() <= kBlockBytes) return;
  }
}

// ---- The whole text -------------------------------------------------------------------------------------------------

// The program's constants.
void write_constants(Unit& unit, Memory& memory) {
  Instance nobody;
  Writer writer(unit, memory, nobody);
  for (const ir::Variable* constant : unit.module.constants) {
    const Cell& cell = unit.resolver.cell(nobody, *constant);
    if (cell.name.empty()) continue;  // no kernel reaches it
    if (cell.is_words) {
      unit.add_global(base::format("const uint[{}] {} = {};\n", words_of(cell.type), cell.name, words_text(*constant)),
                      nullptr);
      continue;
    }
    const Text value = constant->value == nullptr ? memory.zero(constant->type) : writer.value(*constant->value);
    unit.add_global(base::format("const {} {} = {};\n", unit.types.name(constant->type), cell.name, value.text),
                    nullptr);
  }
}

// Such a name would change the components of vectors when it is defined: v.x.
bool glsl_picks_components(std::string_view name) {
  return name.size() <= 4 && name.find_first_not_of("xyzw") == std::string_view::npos;
}

void name_instances(Unit& unit, const std::vector<Instance*>& instances) {
  // Kernels first: callers know them by their names.
  std::vector<const ir::Function*> functions;
  for (const ir::Function* kernel : unit.module.kernels()) functions.push_back(kernel);
  std::unordered_set<const ir::Function*> seen(functions.begin(), functions.end());
  for (const Instance* instance : instances)
    if (seen.insert(instance->function).second) functions.push_back(instance->function);
  auto names = name_functions(functions, unit.names);
  seen.clear();
  for (Instance* instance : instances) {
    std::string& name = names[instance->function];
    if (instance->function->is_kernel && glsl_picks_components(name))
      name = unit.names.take_outermost(name + "_kernel");
    instance->name = seen.insert(instance->function).second ? name : unit.names.take_outermost(name);
  }
  for (const ir::Function* kernel : unit.module.kernels()) unit.kernel_names.push_back(names[kernel]);
  for (Cell& cell : unit.resolver.cells()) {
    const Space space = cell.variable->space;
    if (cell.is_memory || cell.is_rooted || space == Space::Threadgroup || space == Space::Program)
      cell.name = unit.names.take_outermost(cell.is_memory ? cell.variable->name + "_memory" : cell.variable->name);
  }
}

Emitted emit(Unit& unit, const ir::Module& module) {
  Memory memory(unit);
  Emitted emitted;
  const std::vector<ir::Function*> kernels = module.kernels();
  if (kernels.empty()) {
    emitted.text = unit.text();
    return emitted;
  }
  const std::vector<Instance*>& instances = unit.resolver.run();
  name_instances(unit, instances);
  write_constants(unit, memory);
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    Kernel& kernel = emitted.kernels.emplace_back(reflect(module, *kernels[i]));
    kernel.symbol = unit.kernel_names[i];
    for (const Instance* instance : instances)
      kernel.takes_grid |= instance->asks_grid && instance->kernels.contains(i);
    fit_arguments(kernel);
  }
  for (Instance* instance : instances) {
    if (!instance->function->is_kernel) {
      const std::string text = Writer(unit, memory, *instance).function();
      unit.add_function(text, &instance->kernels);
      continue;
    }
    const auto number = static_cast<size_t>(std::ranges::find(kernels, instance->function) - kernels.begin());
    KernelWriter(unit, memory, *instance, emitted.kernels[number]).write();
  }
  emitted.text = unit.text();
  return emitted;
}

}  // namespace

Emitted emit_glsl(const ir::Module& module) {
  Unit unit(module);
  try {
    return emit(unit, module);
  } catch (Rejected& rejected) {
    if (rejected.at.line == 0) rejected.at = unit.at;
    throw;
  }
}

}  // namespace kymo::shader
