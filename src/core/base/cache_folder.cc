#include "base/cache_folder.h"

#include "base/environment.h"

namespace kymo::base {

std::string cache_folder() {
  if (const char* chosen = environment("KYMO_CACHE_DIR")) return chosen;
  if (const char* cache = environment("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/kymo";
  if (const char* home = environment("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/kymo";
  return {};
}

}  // namespace kymo::base
