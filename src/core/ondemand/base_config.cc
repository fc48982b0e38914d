#include "ondemand/base_config.h"

#include <stdlib.h>

#include <fstream>

#include "base/environment.h"
#include "wire/config.h"

namespace kymo::ondemand {

std::string base_config() {
  constexpr size_t kMax = wire::kConfigLargest / 2;  // leaves space for the request
  const char* named = base::environment("KINETO_CONFIG");
  std::ifstream file(named != nullptr && *named != '\0' ? named : "/etc/libkineto.conf", std::ios::binary);
  std::string text(kMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() == static_cast<std::streamsize>(kMax)) return {};
  text.resize(static_cast<size_t>(file.gcount()));
  return wire::read_config(text).errors.empty() ? text : std::string();
}

}  // namespace kymo::ondemand
