#include "device/random/fill_source.h"

#include "base/text.h"
#include "device/embedded.h"
#include "kymo/error.h"

namespace kymo::device::random {
namespace {

std::string_view kernels_in(Language language) {
  switch (language) {
    case Language::OpenClC:
      return embedded::random_cl;
    case Language::CudaCpp:
      return embedded::random_cu;
    case Language::Glsl:
      return embedded::random_comp;
    default:
      throw InvalidArgument(base::format("random numbers have no kernels in {}: use OpenCL C, CUDA C++ or GLSL",
                                         language_name(language)));
  }
}

}  // namespace

std::string fill_source(Language language, Family family, Products products) {
  const std::string_view kernels = kernels_in(language);
  std::string text;
  if (language == Language::Glsl) {
    text += "#version 450\n";
    for (int i = 1; i <= kKernels; ++i) {
      const auto kernel = static_cast<Kernel>(i);
      if (family_of(kernel) == family) text += base::format("#pragma kernel {}\n", name_of(kernel));
    }
    if (products == Products::kNarrow) text += "#define KYMO_NARROW_MULTIPLY\n";
  }
  text += base::format("#define KYMO_FAMILY {}\n", static_cast<int>(family));
  text += embedded::random_dialect_inc;
  text += embedded::random_core_inc;
  if (family == Family::Normal) text += embedded::normal_table_inc;
  text += kernels;
  return text;
}

}  // namespace kymo::device::random
