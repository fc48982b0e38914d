#include "record/cut_guard.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "record/process.h"

namespace kymo::record {
namespace {

// The places have no lock: a forked child could inherit it locked.
constexpr uintptr_t kFree = 0, kTaken = 1;

struct Guarded {
  std::atomic<uintptr_t> begin;  // kFree, kTaken (being filled in), or the address
  uint64_t bytes;
  uint64_t slots_offset, slot_bytes;  // as they were in the header before it was truncated
  uint32_t slot_capacity, ring_cells;
  Side side;
  std::atomic<bool> cut;
};

constexpr uint32_t kMaxGuarded = 256;
constinit Guarded guarded[kMaxGuarded] = {};
constinit struct sigaction before {};
constinit pthread_once_t installed = PTHREAD_ONCE_INIT;

// A thread may be in the middle of a store, so the values in its slot must point into the ring.
void restore_slots(const Guarded& place, char* base) noexcept {
  for (uint32_t i = 0; i < place.slot_capacity; ++i) {
    char* const page = base + place.slots_offset + i * place.slot_bytes;
    Slot& slot = reinterpret_cast<SlotPage*>(page)->slot;
    slot.cells = reinterpret_cast<Cell*>(page + kPage);
    slot.mask = place.ring_cells - 1;
    slot.index = i;
  }
}

bool replace_memory(uintptr_t address) noexcept {
  for (Guarded& place : guarded) {
    const uintptr_t begin = place.begin.load(std::memory_order_acquire);
    if (begin <= kTaken || address < begin || address >= begin + place.bytes) continue;
    if (place.cut.exchange(true)) return true;  // another thread has just replaced it
    auto* const base = reinterpret_cast<char*>(begin);
    if (mmap(base, place.bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0) == MAP_FAILED)
      return false;
    if (place.side == Side::Program) {
      reinterpret_cast<SegmentHeader*>(base)->closed.store(1);
      restore_slots(place, base);
      if (Process* shared = process()) set_mode(*shared, kRecordingBit, false);
      constexpr char kSaid[] = "kymo: the shared memory of this process was cut short; it is recorded no longer\n";
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
    }
    return true;
  }
  return false;
}

void on_bus_error(int number, siginfo_t* info, void* context) noexcept {
  const bool is_fault = info->si_code > 0;  // otherwise someone sent the signal
  if (is_fault && replace_memory(reinterpret_cast<uintptr_t>(info->si_addr))) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  if (!is_fault && before.sa_handler == SIG_IGN) return;
  signal(number, SIG_DFL);  // the access is repeated, and the default action ends the program
  if (!is_fault) raise(number);
}

void install() noexcept {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGBUS, &action, &before);
}

Guarded* find(const Mapping& mapping) noexcept {
  for (Guarded& place : guarded)
    if (place.begin.load(std::memory_order_acquire) == reinterpret_cast<uintptr_t>(mapping.header)) return &place;
  return nullptr;
}

}  // namespace

void guard_against_cuts(const Mapping& mapping, Side side) noexcept {
  pthread_once(&installed, install);
  for (Guarded& place : guarded) {
    uintptr_t free = kFree;
    if (!place.begin.compare_exchange_strong(free, kTaken, std::memory_order_acquire)) continue;
    const SegmentHeader& header = *mapping.header;
    place.bytes = mapping.bytes;
    place.slots_offset = header.slots_offset;
    place.slot_bytes = header.slot_bytes;
    place.slot_capacity = header.slot_capacity;
    place.ring_cells = header.ring_cells;
    place.side = side;
    place.cut.store(false, std::memory_order_relaxed);
    place.begin.store(reinterpret_cast<uintptr_t>(mapping.header), std::memory_order_release);
    return;
  }
}

bool was_cut(const Mapping& mapping) noexcept {
  const Guarded* place = find(mapping);
  if (place != nullptr && place->cut.load(std::memory_order_acquire)) return true;
  struct stat status;
  // The program may have closed the descriptor, and its number may be another file of the program now.
  return fstat(mapping.fd, &status) == 0 && status.st_dev == mapping.device && status.st_ino == mapping.inode &&
         static_cast<uint64_t>(status.st_size) < mapping.bytes;
}

void end_guard(const Mapping& mapping) noexcept {
  if (Guarded* place = find(mapping)) place->begin.store(kFree, std::memory_order_release);
}

}  // namespace kymo::record
