#include "device/names.h"

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

}  // namespace kymo::device
