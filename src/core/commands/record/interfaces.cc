#include "commands/record/interfaces.h"

#include <algorithm>
#include <filesystem>

#include "base/environment.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "commands/record/libraries.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

using record::Interface;

constexpr const char* kWaitsLibrary = "libkymo_waits.so";
constexpr const char* kGpuCounters = "gpu-counters";  // not of programs: the recorder reads them

// How a program finds the library: a variable with the path of one library, or with a list.
struct Variable {
  // Vulkan's loader finds a layer by its manifest. The dynamic linker loads another library than the interfaces do.
  enum class Names : uint8_t { Library, Layer, ManifestFolder, Preloaded, AsanOption };

  const char* name;
  char separator = '\0';  // between the libraries of a list; 0: there is place for only one
  bool is_last = false;   // of a list: after the others, because only the first that accepts is used
  Names names = Names::Library;
};

struct Offered {
  Interface interface;
  const char* title;
  bool by_default;
  std::vector<Variable> variables;
  Variables settings = {};  // what the interface needs besides; a value of the user stays
};

const std::vector<Offered>& offered() {
  static constexpr Variable kCuda{"CUDA_INJECTION64_PATH"};
  static const std::vector<Offered> all = {
      {Interface::Nvtx, "NVTX", true, {{"NVTX_INJECTION64_PATH"}}},
      {Interface::Cuda, "CUDA", true, {kCuda}},
      {Interface::Torch, "PyTorch", true, {kCuda}},  // it loads no tool itself; a program that uses NVTX needs no more
      {Interface::Nccl, "NCCL", true, {{"NCCL_PROFILER_PLUGIN"}}},
      {Interface::OpenCl, "OpenCL", true, {{"OPENCL_LAYERS", ':'}}},
      {Interface::Vulkan,
       "Vulkan",
       true,
       {{"VK_INSTANCE_LAYERS", ':', true, Variable::Names::Layer},
        {"VK_ADD_LAYER_PATH", ':', true, Variable::Names::ManifestFolder}}},
      {Interface::OpenMp, "OpenMP", true, {{"OMP_TOOL_LIBRARIES", ':', true}}},
      {Interface::Itt,
       "ITT",
       false,
       {{"INTEL_LIBITTNOTIFY64"}},
       {{"INTEL_ITTNOTIFY_GROUPS", "structure,thread,stitch"}}},  // tasks and markers, names, what OpenMP relies on
      {Interface::Waits,
       "calls that block",
       false,
       {{kPreloadVariable, ':', false, Variable::Names::Preloaded},
        {"ASAN_OPTIONS", ':', true, Variable::Names::AsanOption}}},
  };
  return all;
}

const Offered& offered(Interface which) { return *std::ranges::find(offered(), which, &Offered::interface); }

// A compiler inside a runtime, which writes the names of its functions to /tmp/perf-PID.map on request.
struct Compiler {
  const char *name, *variable, *options;
};
constexpr Compiler kCompilers[] = {
    {"node", "NODE_OPTIONS", "--perf-basic-prof"},
    // A JDK before 17 does not know all of them, and would not start.
    {"java", "JAVA_TOOL_OPTIONS",
     "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
     "-XX:+PreserveFramePointer"},
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Offered& one : offered()) all.emplace_back(record::name_of(one.interface));
  return all;
}

std::string default_names() {
  std::vector<std::string> all;
  for (const Offered& one : offered())
    if (one.by_default) all.emplace_back(record::name_of(one.interface));
  return base::join(all, ", ");
}

// `known` is for the message.
void take_list(const std::string& text, std::vector<Interface>& into, const std::vector<std::string>& known) {
  for (const std::string& name : base::split(text, ',')) {
    const auto found =
        std::ranges::find_if(offered(), [&](const Offered& one) { return record::name_of(one.interface) == name; });
    if (found == offered().end())
      throw InvalidArgument(base::format("'{}' is not an interface; use {}", name, base::join(known, ", ")));
    into.push_back(found->interface);
  }
}

bool is_ours(const std::string& path) { return std::filesystem::path(path).filename() == kInjectedLibrary; }

bool is_set(const char* name) {
  const char* const value = base::inherited_environment(name);
  return value != nullptr && *value != '\0';
}

// The only place has another tool, which keeps it.
bool is_taken(const Variable& variable) {
  return variable.separator == '\0' && is_set(variable.name) && !is_ours(base::inherited_environment(variable.name));
}

// Where Vulkan's loader looks for layers: VK_LAYER_PATH, if it is set, hides VK_ADD_LAYER_PATH.
const char* name_of_list(const Variable& variable) {
  constexpr const char* kOnly = "VK_LAYER_PATH";
  return variable.names == Variable::Names::ManifestFolder && is_set(kOnly) ? kOnly : variable.name;
}

std::string value_of(const Variable& variable, const std::string& library) {
  switch (variable.names) {
    case Variable::Names::Layer:
      return base::kVulkanLayer;
    case Variable::Names::ManifestFolder:
      return std::filesystem::path(find_kymo_library(base::kVulkanManifest)).parent_path();
    case Variable::Names::Preloaded:
      return find_preloaded_library(kWaitsLibrary);
    case Variable::Names::AsanOption:  // otherwise its runtime ends every program in which another library comes first
      return "verify_asan_link_order=0";
    case Variable::Names::Library:
      break;
  }
  return library;
}

void add_to_list(const Variable& variable, const std::string& library, Variables& into) {
  const char* const name = name_of_list(variable);
  const std::string value = value_of(variable, library), others = is_set(name) ? base::inherited_environment(name) : "";
  const std::string known = variable.names == Variable::Names::Library ? kInjectedLibrary : value;
  if (others.find(known) != others.npos) return;
  const std::string list = variable.is_last ? others + variable.separator + value : value + variable.separator + others;
  into.emplace_back(name, others.empty() ? value : list);
}

void add_variable(const Variable& variable, const std::string& library, Variables& into) {
  if (variable.separator != '\0') return add_to_list(variable, library, into);
  if (!is_taken(variable)) into.emplace_back(variable.name, library);
}

// False for Vulkan, if its headers were not there when Kymo was built.
bool is_built(Interface which) {
  if (which != Interface::Vulkan) return true;
  try {
    find_kymo_library(base::kVulkanManifest);
    return true;
  } catch (const NotAvailable&) {
    return false;
  }
}

}  // namespace

std::vector<Interface> InterfaceChoice::selected() const {
  std::vector<Interface> all;
  for (const Offered& one : offered()) {
    const bool added = std::ranges::find(with, one.interface) != with.end();
    const bool removed = std::ranges::find(without, one.interface) != without.end();
    if ((one.by_default || added) && !removed) all.push_back(one.interface);
  }
  return all;
}

void add_interface_options(options::CommandLine& line, InterfaceChoice& choice, bool of_recorder) {
  std::vector<std::string> with_names = names();
  for (const Compiler& one : kCompilers) with_names.emplace_back(one.name);
  line.text(
      "--with", "INTERFACES",
      [&choice, with_names](const std::string& text) {
        std::vector<std::string> interfaces;
        for (const std::string& name : base::split(text, ','))
          (std::ranges::find(kCompilers, name, &Compiler::name) != std::end(kCompilers) ? choice.compilers : interfaces)
              .push_back(name);
        if (!interfaces.empty()) take_list(base::join(interfaces, ","), choice.with, with_names);
      },
      "also these interfaces of programs that do not know\nKymo, separated by commas: " + base::join(names(), ", ") +
          ";\nnode, java: names of the functions that they compile\n(JDK 17 or later; it prints a line)",
      with_names);
  std::vector<std::string> without_names = names();
  if (of_recorder) without_names.emplace_back(kGpuCounters);
  line.text(
      "--without", "INTERFACES",
      [&choice, without_names, of_recorder](const std::string& text) {
        std::vector<std::string> interfaces = base::split(text, ',');
        if (of_recorder && std::erase(interfaces, kGpuCounters) != 0) choice.without_gpu_counters = true;
        if (!interfaces.empty()) take_list(base::join(interfaces, ","), choice.without, without_names);
      },
      "without these interfaces; recorded by default:\n" + default_names() +
          (of_recorder ? base::format(",\n{}", kGpuCounters) : std::string()),
      without_names);
  line.choice(
      "--python-stacks", choice.without_python_stacks, {{"launches", false}, {"off", true}},
      "where the outermost operators, and launches outside of\nthem, state what their thread runs in Python; default: "
      "launches");
}

Variables settings_environment(const InterfaceChoice& choice) {
  if (!choice.without_python_stacks) return {};
  return {{"KYMO_PYTHON_STACKS", "off"}};
}

Variables interface_environment(const std::vector<Interface>& selected) {
  // The environment may already make programs load the library: `kymo env`.
  if (selected.empty()) return {{"KYMO_INTERFACES", ""}};
  const std::string library = find_kymo_library(kInjectedLibrary);
  Variables variables;
  std::string list;
  for (const Interface which : selected) {
    if (!is_built(which) && selected.size() > 1) continue;  // alone, it is an error
    list.append(list.empty() ? "" : ",").append(record::name_of(which));
    for (const Variable& variable : offered(which).variables) add_variable(variable, library, variables);
    for (const auto& [name, value] : offered(which).settings)
      if (base::inherited_environment(name.c_str()) == nullptr) variables.emplace_back(name, value);
  }
  variables.emplace_back("KYMO_INTERFACES", list);
  return variables;
}

Variables compiler_environment(const std::vector<std::string>& compilers) {
  Variables variables;
  for (const Compiler& one : kCompilers) {
    if (std::ranges::find(compilers, one.name) == compilers.end()) continue;
    const std::string before = is_set(one.variable) ? base::inherited_environment(one.variable) : "";
    variables.emplace_back(one.variable, before.empty() ? one.options : before + " " + one.options);
  }
  return variables;
}

Variables interface_environment_or_warning(const std::vector<Interface>& selected) {
  for (const InterfaceDescription& one : interface_descriptions())  // PyTorch has the variable of CUDA
    if (!one.other_tool.empty() && one.interface != Interface::Torch &&
        std::ranges::count(selected, one.interface) != 0)
      say_warning(
          base::format("{} is not recorded: {} names another tool, {}", one.title, one.variable, one.other_tool));
  try {
    return interface_environment(selected);
  } catch (const NotAvailable& error) {
    say_warning(base::format("programs that do not know Kymo are not recorded: {}", error.what()));
    return {};
  }
}

std::vector<InterfaceDescription> interface_descriptions() {
  std::vector<InterfaceDescription> all;
  for (const Offered& one : offered()) {
    const Variable& first = one.variables.front();
    all.push_back({one.interface, one.title, one.by_default, first.name,
                   is_taken(first) ? base::inherited_environment(first.name) : "",
                   first.names == Variable::Names::Layer       ? base::kVulkanLayer
                   : first.names == Variable::Names::Preloaded ? kWaitsLibrary
                                                               : kInjectedLibrary});
  }
  return all;
}

std::string interface_titles(const std::vector<Interface>& selected) {
  std::string text;
  for (size_t i = 0; i < selected.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == selected.size() ? " or " : ", ").append(offered(selected[i]).title);
  return text;
}

}  // namespace kymo::cli
