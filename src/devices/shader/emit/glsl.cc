// A module as GLSL 4.50 for Vulkan 1.2, with buffer references.
#include <algorithm>
#include <unordered_set>

#include "shader/emit/emit.h"
#include "shader/emit/glsl_kernel.h"
#include "shader/emit/glsl_writer.h"
#include "shader/emit/reflect.h"

namespace kymo::shader {
namespace {

using namespace glsl;

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
    write_kernel(unit, memory, *instance, emitted.kernels[number]);
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
