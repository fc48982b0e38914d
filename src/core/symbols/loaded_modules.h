// The modules that are loaded into this process: the program, its libraries, the vDSO.
//
// From the loader, not from /proc/self/maps: there, a file that someone only reads looks like a part of the module that
// is loaded from the same file, and libdw reads the files of all modules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kymo::symbols {

struct LoadedModule {
  std::string path;  // absolute; "[vdso: PID]" for the vDSO, which libdw reads from memory
  uintptr_t begin = 0, end = 0;
  std::vector<uint8_t> build_id;  // empty: it has none
};
std::vector<LoadedModule> loaded_modules();

}  // namespace kymo::symbols
