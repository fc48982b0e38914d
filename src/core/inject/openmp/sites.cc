#include "inject/openmp/sites.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <stdlib.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/text.h"
#include "inject/handle_table.h"
#include "inject/immortal.h"
#include "inject/plain_name.h"

namespace kymo::inject::openmp {
namespace {

constexpr std::array<const char*, 9> kTexts{"omp parallel", "omp loop",      "omp sections",
                                            "omp single",   "omp workshare", "omp distribute",
                                            "omp taskloop", "omp scope",     "omp task"};
constexpr const char* kCategory = "openmp";

std::array<Site, kTexts.size()>& plain_sites() noexcept {
  static auto sites = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<Site, kTexts.size()>{Site(Label(kTexts[kIndex], kCategory))...};
  }
  (std::make_index_sequence<kTexts.size()>());
  return sites;
}

std::string demangled(const char* symbol) {
  int status = -1;
  const std::unique_ptr<char, decltype(&free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

// Where the code is. The address is behind the call, which may be the last instruction of its function.
std::string place_of(const void* code) {
  const auto* call = static_cast<const char*>(code) - 1;
  Dl_info where;
  if (dladdr(call, &where) == 0 || where.dli_fname == nullptr) return {};
  if (where.dli_sname != nullptr) return " in " + demangled(where.dli_sname);
  const std::string_view path = where.dli_fname;
  const size_t slash = path.rfind('/');
  return base::format(" at {}+{:#x}", slash == path.npos ? path : path.substr(slash + 1),
                      static_cast<size_t>(call - static_cast<const char*>(where.dli_fbase)));
}

struct PlacedSite {
  std::string name;
  Site site;
  explicit PlacedSite(std::string text) : name(std::move(text)), site(Label(name, kCategory)) {}
};

}  // namespace

Site& site_of(Construct construct, const void* code) noexcept {
  static Immortal<std::array<HandleTable<PlacedSite>, kTexts.size()>> storage;
  static auto& tables = storage.make();
  const auto index = static_cast<size_t>(construct);
  if (code == nullptr) return plain_sites()[index];
  if (PlacedSite* known = tables[index].find(code)) return known->site;
  try {
    auto made = std::make_unique<PlacedSite>(kTexts[index] + plain_name(place_of(code)));
    tables[index].put(code, made.get());  // another thread may do the same: both stay valid
    return made.release()->site;
  } catch (const std::bad_alloc&) {
    return plain_sites()[index];
  }
}

}  // namespace kymo::inject::openmp
