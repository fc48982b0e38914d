// The folder of this user for what can be made again: compiled kernels, the address of `kymo view`.
#pragma once

#include <string>

namespace kymo::base {

// $KYMO_CACHE_DIR, else $XDG_CACHE_HOME/kymo, else ~/.cache/kymo. It may not exist yet. Empty: nothing must be stored,
// or there is no such folder.
std::string cache_folder();

}  // namespace kymo::base
