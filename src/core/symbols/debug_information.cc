#include "symbols/debug_information.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>

#include "base/text.h"
#include "unwind/loaded_code.h"

namespace kymo::symbols {
namespace {

std::string path_of(const char* name) {
  char path[PATH_MAX];
  if (*name == '\0') {
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
  }
  if (std::string_view(name).starts_with("linux-vdso") || std::string_view(name).starts_with("linux-gate"))
    return base::format("[vdso: {}]", getpid());
  return realpath(name, path) != nullptr ? path : name;
}

}  // namespace

std::vector<LoadedModule> loaded_modules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        const unwind::LoadedCode code = unwind::loaded_code(*info);
        if (code.begin >= code.end) return 0;
        uint8_t id[unwind::kMaxBuildIdBytes];
        const size_t id_bytes = unwind::build_id_of(code, id);
        static_cast<std::vector<LoadedModule>*>(argument)->push_back(
            {path_of(code.path), code.begin & ~(page - 1), (code.end + page - 1) & ~(page - 1), {id, id + id_bytes}});
        return 0;
      },
      &modules);
  return modules;
}

}  // namespace kymo::symbols

#if KYMO_HAVE_DW

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <unordered_map>

#include "symbols/module_functions.h"
#include "symbols/plt_stubs.h"

namespace kymo::symbols {

namespace {

// Separate debug files are found by build id only. libdw's default lookup would also ask servers and wait for them.
const Dwfl_Callbacks kLookup{dwfl_linux_proc_find_elf, dwfl_build_id_find_debuginfo, nullptr, nullptr};
const Dwfl_Callbacks kFileLookup{dwfl_build_id_find_elf, dwfl_build_id_find_debuginfo, dwfl_offline_section_address,
                                 nullptr};
constexpr Dwarf_Addr kFileBegin = 0x1000'0000;  // the assumed load address, unless the file states one

// Compilers make copies of a function with names such as "f.cold" and "f.constprop.0". Names of Go contain dots too:
// "runtime.goexit".
std::string_view without_copy_suffix(std::string_view name) {
  if (name.starts_with("_Z") || name.starts_with("_R")) return name.substr(0, name.find('.'));
  constexpr std::string_view kSuffixes[] = {".cold",      ".part.", ".isra.",      ".constprop.",
                                            ".lto_priv.", ".llvm.", ".localalias", ".clone."};
  for (const std::string_view suffix : kSuffixes)
    if (const size_t at = name.find(suffix, 1); at != name.npos) name = name.substr(0, at);
  return name;
}

}  // namespace

struct DebugInformation::Impl {
  explicit Impl(const Dwfl_Callbacks& lookup) : dwfl(dwfl_begin(&lookup), dwfl_end) {}

  std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl;
  Dwfl_Module* file = nullptr;  // set if this reads a single file
  std::unordered_map<Dwarf*, AddressRanges> units;
  std::unordered_map<const void*, AddressRanges> functions;  // by the address of the unit's own entry

  std::unordered_map<Dwfl_Module*, SymbolTable> symbols;
  std::unordered_map<Dwfl_Module*, FunctionStarts> starts;
  std::unordered_map<Dwfl_Module*, PltStubs> stubs;
  FunctionNames names;

  // Of the code in memory. Its file may have been replaced since it was loaded.
  std::unordered_map<Dwfl_Module*, std::vector<uint8_t>> loaded_ids;
  std::unordered_map<Dwfl_Module*, bool> is_same_file;

  bool is_from_its_file(Dwfl_Module* module) {
    const auto [known, is_new] = is_same_file.try_emplace(module, true);
    if (!is_new) return known->second;
    const auto loaded = loaded_ids.find(module);
    if (loaded == loaded_ids.end() || loaded->second.empty()) return true;
    GElf_Addr bias = 0;
    Elf* const elf = dwfl_module_getelf(module, &bias);
    const void* bytes = nullptr;
    const ssize_t size = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
    const auto* const id = static_cast<const uint8_t*>(bytes);
    known->second = size > 0 && std::equal(id, id + size, loaded->second.begin(), loaded->second.end());
    return known->second;
  }

  // The name from the symbol table; empty if there is none.
  std::string symbol_at(Dwfl_Module* module, Dwarf_Addr address) {
    const char* const name = symbols.try_emplace(module, module).first->second.at(address);
    return name != nullptr ? demangled(std::string(without_copy_suffix(name)).c_str()) : std::string();
  }

  // "write@plt". Empty: no stub is there.
  std::string stub_name_at(Dwfl_Module* module, Dwarf_Addr address) {
    const PltStub* const stub = stubs.try_emplace(module, module).first->second.at(address);
    if (stub == nullptr) return {};
    const std::string name = stub->symbol.empty() ? symbol_at(module, stub->resolver) : demangled(stub->symbol.c_str());
    return name.empty() ? name : name + "@plt";
  }

  // A function that is local to its file has a name without parameters in the debug information. The symbol table has
  // its full name.
  void complete_name(Dwfl_Module* module, Dwarf_Addr address, std::string& function) {
    if (function.ends_with(')') || function.ends_with(") const")) return;
    std::string symbol = symbol_at(module, address);
    if (function.empty() || symbol.find(function + "(") != std::string::npos) function = std::move(symbol);
  }

  Dwfl_Module* module_at(Dwarf_Addr address) const {
    Dwfl_Module* const module = dwfl_addrmodule(dwfl.get(), address);
    Dwarf_Addr begin = 0, end = 0;
    dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr);
    // Libdw also returns a module that is only near the address
    return address >= begin && address < end ? module : nullptr;
  }

  bool unit_at(Dwfl_Module* module, Dwarf* dwarf, Dwarf_Addr address, Dwarf_Addr bias, Dwarf_Die& unit) {
    Dwarf_Addr same_bias = 0;
    if (Dwarf_Die* const found = dwfl_module_addrdie(module, address + bias, &same_bias)) {
      unit = *found;
      return true;
    }
    // Some compilers write no table that maps addresses to units.
    auto known = units.find(dwarf);
    if (known == units.end()) known = units.emplace(dwarf, units_of(dwarf)).first;
    const auto offset = known->second.at(address);
    return offset && dwarf_offdie(dwarf, *offset, &unit) != nullptr;
  }

  std::vector<Frame> debug_frames(Dwfl_Module* module, Dwarf_Addr address) {
    Dwarf_Addr bias = 0;
    Dwarf* const dwarf = dwfl_module_getdwarf(module, &bias);
    Dwarf_Die unit;
    if (dwarf == nullptr || !unit_at(module, dwarf, address - bias, bias, unit)) return {};
    auto known = functions.find(unit.addr);
    if (known == functions.end()) known = functions.emplace(unit.addr, functions_of(unit)).first;
    Dwarf_Die function;
    if (const auto offset = known->second.at(address - bias);
        offset && dwarf_offdie(dwarf, *offset, &function) != nullptr)
      return frames_in(unit, function, address - bias, names);
    return {line_in(unit, address - bias)};
  }
};

DebugInformation::DebugInformation() : impl_(std::make_unique<Impl>(kLookup)) { look_again(); }
DebugInformation::~DebugInformation() = default;

DebugInformation::DebugInformation(base::FileDescriptor file, const std::string& path)
    : impl_(std::make_unique<Impl>(kFileLookup)) {
  Dwfl* const dwfl = impl_->dwfl.get();
  if (dwfl == nullptr) return;
  dwfl_report_begin(dwfl);
  impl_->file = dwfl_report_elf(dwfl, path.c_str(), path.c_str(), file.get(), kFileBegin, false);
  if (impl_->file != nullptr) file.release();  // libdw closes it
  dwfl_report_end(dwfl, nullptr, nullptr);
}

std::optional<uintptr_t> DebugInformation::begins_at() const {
  if (impl_->file == nullptr) return std::nullopt;
  Dwarf_Addr begin = 0;
  dwfl_module_info(impl_->file, nullptr, &begin, nullptr, nullptr, nullptr, nullptr, nullptr);
  return begin;
}

std::string DebugInformation::build_id() const {
  GElf_Addr bias = 0;
  Elf* const elf = impl_->file != nullptr ? dwfl_module_getelf(impl_->file, &bias) : nullptr;
  const void* bytes = nullptr;
  const ssize_t size = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
  if (size <= 0) return {};
  return base::hex({static_cast<const uint8_t*>(bytes), static_cast<size_t>(size)});
}

void DebugInformation::look_again() {
  if (impl_->dwfl == nullptr || impl_->file != nullptr) return;
  dwfl_report_begin_add(impl_->dwfl.get());
  for (LoadedModule& module : loaded_modules()) {
    Dwfl_Module* const reported = dwfl_report_module(impl_->dwfl.get(), module.path.c_str(), module.begin, module.end);
    if (reported != nullptr) impl_->loaded_ids[reported] = std::move(module.build_id);
  }
  dwfl_report_end(impl_->dwfl.get(), nullptr, nullptr);
}

std::optional<CodeOfFunction> DebugInformation::function(uintptr_t return_address) const {
  if (impl_->file == nullptr || impl_->module_at(return_address - 1) == nullptr) return std::nullopt;
  const auto function = impl_->starts.try_emplace(impl_->file, impl_->file).first->second.around(return_address - 1);
  GElf_Addr bias = 0;
  if (!function || dwfl_module_getelf(impl_->file, &bias) == nullptr) return std::nullopt;
  return CodeOfFunction{function->first - bias, function->second - bias, return_address - 1 - bias};
}

std::vector<Frame> DebugInformation::frames(uintptr_t return_address) {
  if (impl_->dwfl == nullptr || return_address == 0) return {};
  Dwfl_Module* const module = impl_->module_at(return_address - 1);
  if (module == nullptr || !impl_->is_from_its_file(module)) return {};
  const FunctionStarts& starts = impl_->starts.try_emplace(module, module).first->second;
  const uint64_t code = starts.code_of(return_address);
  std::vector<Frame> frames = impl_->debug_frames(module, code);
  if (frames.empty()) frames.emplace_back();

  Dwarf_Addr begin = 0;
  const char* main_file = nullptr;
  const char* const name = dwfl_module_info(module, nullptr, &begin, nullptr, nullptr, nullptr, &main_file, nullptr);
  const std::string path = main_file != nullptr ? main_file : name != nullptr ? name : "";
  if (frames.size() == 1 && frames[0].function.empty()) frames[0].function = impl_->stub_name_at(module, code);
  if (!frames.back().function.ends_with("@plt")) impl_->complete_name(module, code, frames.back().function);
  // Distributions remove its symbol. This is its name in all C libraries that have it.
  if (frames.back().function.empty() && code == return_address && starts.is_signal_trampoline(code))
    frames.back().function = "__restore_rt";
  for (Frame& frame : frames) {
    frame.module = path;
    if (!frame.function.empty()) continue;
    // All addresses of a function have one name, if the tables say where it begins.
    const uint64_t address = starts.at(code).value_or(return_address);
    frame.function = base::format("{}+{:#x}", std::string_view(path).substr(path.rfind('/') + 1), address - begin);
  }
  return frames;
}

}  // namespace kymo::symbols

#else

namespace kymo::symbols {

struct DebugInformation::Impl {};
DebugInformation::DebugInformation() = default;
DebugInformation::DebugInformation(base::FileDescriptor, const std::string&) {}
DebugInformation::~DebugInformation() = default;
void DebugInformation::look_again() {}
std::optional<uintptr_t> DebugInformation::begins_at() const { return std::nullopt; }
std::string DebugInformation::build_id() const { return {}; }
std::optional<CodeOfFunction> DebugInformation::function(uintptr_t) const { return std::nullopt; }
std::vector<Frame> DebugInformation::frames(uintptr_t) { return {}; }

}  // namespace kymo::symbols

#endif
