#include "symbols/shared_symbols.h"

#include <pthread.h>

namespace kymo::symbols {
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
