#include "device/names.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace kymo::device {

std::string_view keep_name(std::string_view name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name).first;
  return *found;
}

Site& keep_kernel_site(std::string_view name) {
  static std::mutex mutex;
  static auto& sites = *new std::map<std::string, std::unique_ptr<Site>, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = sites.find(name);
  if (found == sites.end()) found = sites.emplace(name, std::make_unique<Site>(Label(keep_name(name), "kernel"))).first;
  return *found->second;
}

}  // namespace kymo::device
