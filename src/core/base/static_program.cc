#include "base/static_program.h"

#include <link.h>

namespace kymo::base {

bool is_static_program() noexcept {
  bool has_linker = false;
  // The first object is the program itself.
  dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* found) {
        for (size_t i = 0; i < program->dlpi_phnum; ++i)
          if (program->dlpi_phdr[i].p_type == PT_INTERP) *static_cast<bool*>(found) = true;
        return 1;
      },
      &has_linker);
  return !has_linker;
}

}  // namespace kymo::base
