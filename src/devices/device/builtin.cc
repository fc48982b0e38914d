#include "device/builtin.h"

#include "device/device_state.h"
#include "device/embedded.h"
#include "device/language.h"
#include "device/library_cache.h"
#include "device/random/fill_source.h"

namespace kymo::device {
namespace {

std::string source_of(Builtin which, Language language, random::Products products) {
  switch (which) {
    case Builtin::StridedCopy:
      switch (language) {
        case Language::OpenClC:
          return std::string(embedded::strided_copy_cl);
        case Language::CudaCpp:
          return std::string(embedded::strided_copy_cu);
        default:
          return std::string(embedded::strided_copy_comp);
      }
    case Builtin::Uniform:
      return random::fill_source(language, random::Family::Uniform, products);
    case Builtin::Normal:
      return random::fill_source(language, random::Family::Normal, products);
    case Builtin::RandInt:
      return random::fill_source(language, random::Family::RandInt, products);
    case Builtin::Bernoulli:
      return random::fill_source(language, random::Family::Bernoulli, products);
  }
  return {};
}

}  // namespace

ShaderLibrary BuiltinLibraries::get(Builtin which) {
  std::lock_guard lock(mutex_);
  auto& library = libraries_[static_cast<size_t>(which)];
  if (library == nullptr) {
    const auto language = native_language(device_.info());
    if (!language) {
      throw NotAvailable(device_.name() +
                         " has no compiler for the runtime's own kernels here: `kymo devices` says what is missing");
    }
    // For wide products, some compilers for processors use instructions that the processor does not have.
    const auto products = device_.info().is_processor ? random::Products::kNarrow : random::Products::kWide;
    library =
        device_.libraries().get(source_of(which, *language, products), {{}, "kymo"}, LibraryCache::Owner::Runtime);
  }
  return ShaderLibrary(library);
}

void BuiltinLibraries::forget() {
  std::lock_guard lock(mutex_);
  for (auto& library : libraries_) library.reset();
}

}  // namespace kymo::device
