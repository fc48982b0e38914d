#include "symbols/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "symbols/debug_information.h"
#include "symbols/rust_name.h"

namespace kymo::symbols {

namespace {

// How often a module was loaded into this process, and unloaded.
struct LoaderCounts {
  unsigned long long loads = 0, unloads = 0;
};

LoaderCounts loader_counts() {
  LoaderCounts counts;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        *static_cast<LoaderCounts*>(argument) = {info->dlpi_adds, info->dlpi_subs};
        return 1;  // all modules report the same numbers
      },
      &counts);
  return counts;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What the loader knows, which is only the exported names.
Frame loader_frame(uintptr_t return_address) {
  Frame frame;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(return_address - 1), &info) == 0 || info.dli_fname == nullptr) {
    frame.function = base::format("{:#x}", return_address);
    return frame;
  }
  frame.module = info.dli_fname;
  frame.function = info.dli_sname != nullptr
                       ? demangled(info.dli_sname)
                       : base::format("{}+{:#x}", last_part(frame.module),
                                      return_address - reinterpret_cast<uintptr_t>(info.dli_fbase));
  return frame;
}

}  // namespace

std::string demangled(const char* name) {
  if (std::string rust = demangled_rust(name); !rust.empty()) return rust;
  if (name[0] != '_' || name[1] != 'Z') return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

// Answers are kept per era, which is the time between two unloads. Within an era, an address has one meaning.
struct Symbols::Impl {
  struct Era {
    std::unique_ptr<DebugInformation> information = std::make_unique<DebugInformation>();
    LoaderCounts loaded = loader_counts();
    std::unordered_map<uintptr_t, std::vector<Frame>> known;
  };
  static constexpr size_t kMaxEras = 8;  // eras with open debug information; the answers of all eras are kept
  std::vector<std::unique_ptr<Era>> eras;

  Era& current() {
    const LoaderCounts now = loader_counts();
    if (eras.empty() || eras.back()->loaded.unloads != now.unloads) {
      eras.push_back(std::make_unique<Era>());
      if (eras.size() > kMaxEras) eras[eras.size() - kMaxEras - 1]->information.reset();
    } else if (eras.back()->loaded.loads != now.loads) {
      eras.back()->loaded = now;
      eras.back()->information->look_again();
    }
    return *eras.back();
  }

  // Looks in the code that is loaded now, then in the code that was loaded before.
  std::vector<Frame> look_up(uintptr_t address) const {
    for (auto era = eras.rbegin(); era != eras.rend() && (*era)->information != nullptr; ++era)
      if (std::vector<Frame> frames = (*era)->information->frames(address); !frames.empty()) return frames;
    return {loader_frame(address)};
  }
};

Symbols::Symbols() : impl_(std::make_unique<Impl>()) { impl_->current(); }
Symbols::~Symbols() = default;

size_t Symbols::eras() const { return impl_->eras.size(); }

const std::vector<Frame>& Symbols::at_return_address(uintptr_t address) {
  Impl::Era& era = impl_->current();
  if (const auto found = era.known.find(address); found != era.known.end()) return found->second;
  return era.known.emplace(address, impl_->look_up(address)).first->second;
}

// ---- The one of this process ---------------------------------------------------------------------------------------

namespace {

// Never destroyed: stacks may be looked up while the process exits.
struct Shared {
  std::mutex mutex;
  std::unique_ptr<Symbols> symbols;

  static Shared& instance() {
    static auto& one = *new Shared;
    return one;
  }

 private:
  Shared() {
    pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                   [] { instance().mutex.unlock(); });
  }
};

}  // namespace

SharedSymbols::SharedSymbols() : lock_(Shared::instance().mutex) {
  Shared& shared = Shared::instance();
  // A program that loads and unloads modules all the time must not fill its memory.
  constexpr size_t kMaxEras = 8;
  if (shared.symbols == nullptr || shared.symbols->eras() > kMaxEras) shared.symbols = std::make_unique<Symbols>();
}

Symbols& SharedSymbols::operator*() const noexcept { return *Shared::instance().symbols; }

}  // namespace kymo::symbols
