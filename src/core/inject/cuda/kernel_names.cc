#include "inject/cuda/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>

#include "base/text.h"
#include "record/layout.h"

namespace kymo::inject::cuda {
namespace {

constexpr size_t kMaxNames = 50'000;

// A longer name would be stored with each execution, and cut off there. The number keeps names apart that begin alike.
std::string shortened(std::string name) {
  if (name.size() <= record::kMaxInternedName) return name;
  const std::string end = base::format("... #{:016x}", std::hash<std::string>{}(name));
  name.resize(record::kMaxInternedName - end.size());
  return name + end;
}

}  // namespace

std::string readable_name(std::string_view mangled) {
  std::string name(mangled);
  if (!mangled.starts_with("_Z")) return shortened(name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), free);
  return shortened(text != nullptr ? std::string(text.get()) : name);
}

Site* KernelNames::site_of(std::string_view mangled) {
  if (const auto found = names_.find(mangled); found != names_.end()) return &found->second->site;
  if (names_.size() == kMaxNames) return nullptr;
  auto named = std::make_unique<Named>();
  named->name = readable_name(mangled);
  named->site.label = Label(named->name);
  return &names_.emplace(mangled, std::move(named)).first->second->site;
}

}  // namespace kymo::inject::cuda
