#include "shader/emit/glsl_kernel.h"

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_words.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {
namespace {

constexpr uint32_t kAddressBytes = 8;
constexpr uint32_t kGridWords = 6;
constexpr uint32_t kFirstGroupConstant = 3;

uint32_t glsl_pushed_bytes(const KernelParameter& parameter) {
  switch (parameter.passing) {
    case Passing::Address:
      return kAddressBytes;
    case Passing::Inline:
      return parameter.inline_bytes;
    case Passing::Group:
      break;
  }
  return 0;
}

uint64_t glsl_pushed_bytes(const Kernel& kernel) {
  uint64_t bytes = kernel.takes_grid ? kGridWords * sizeof(uint32_t) : 0;
  for (const KernelParameter& parameter : kernel.parameters) bytes += glsl_pushed_bytes(parameter);
  return bytes;
}

class KernelWriter {
 public:
  KernelWriter(Unit& unit, Memory& memory, Instance& instance, const Kernel& kernel)
      : unit_(unit), memory_(memory), instance_(instance), kernel_(kernel), writer_(unit, memory, instance) {}

  void write() {
    unit_.at = instance_.function->at;
    const auto& bindings = instance_.function->bindings;
    name_members();
    writer_.enter();
    for (size_t i = 0; i < bindings.size(); ++i) take(bindings[i], kernel_.parameters[i], member_names_[i]);
    if (kernel_.takes_grid) members_ += base::format("  uint kymo_grid[{}];\n", kGridWords);
    writer_.body();
    writer_.leave();
    if (!members_.empty())
      unit_.add_global(base::format("layout(push_constant, scalar) uniform {} {{\n{}}} arguments;\n",
                                    unit_.names.take_outermost(kernel_.symbol + "_arguments"), members_),
                       &instance_.kernels);
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

  void take(const ir::Binding& binding, const KernelParameter& parameter, const std::string& member_name) {
    Cell& cell = writer_.cell(*binding.variable);
    const std::string& name = binding.variable->name;
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
  Writer writer_;
  std::vector<std::string> member_names_;
  std::string members_;
  uint32_t groups_ = 0;
};

}  // namespace

void fit_push_constants(Kernel& kernel, const Location& at) {
  while (glsl_pushed_bytes(kernel) > kPushBytes) {
    const auto largest = std::ranges::max_element(kernel.parameters, {}, [](const KernelParameter& parameter) {
      return parameter.passing == Passing::Inline ? parameter.inline_bytes : 0;
    });
    if (largest == kernel.parameters.end() || largest->passing != Passing::Inline)
      throw Rejected{
          at, base::format("the kernel {} has {} bytes of arguments; the max on Vulkan is {}: put pointers into a "
                           "structure in a constant buffer",
                           kernel.name, glsl_pushed_bytes(kernel), kPushBytes)};
    largest->passing = Passing::Address;
    largest->inline_bytes = largest->value_offset = 0;
  }
}

void write_kernel(Unit& unit, Memory& memory, Instance& instance, const Kernel& kernel) {
  KernelWriter(unit, memory, instance, kernel).write();
}

}  // namespace kymo::shader::glsl
