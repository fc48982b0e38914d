#include "inject/cuda/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>

namespace kymo::inject::cuda {
namespace {

constexpr size_t kMaxNames = 50'000;

}  // namespace

std::string readable_name(std::string_view mangled) {
  std::string name(mangled);
  if (!mangled.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), free);
  return text != nullptr ? std::string(text.get()) : name;
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
