#include "edge/blocks.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

namespace kymo::edge {

namespace {

constexpr size_t kPage = 4096;

bool is_large(size_t bytes) noexcept { return bytes > kLargeBlock / 2; }

// The system clears new memory, which takes longer than recording into it. So a few large blocks that were given back
// are kept for the next profiler.
std::atomic<void*> kept[2];

void* take_kept() noexcept {
  for (std::atomic<void*>& one : kept)
    if (void* const block = one.exchange(nullptr, std::memory_order_acquire)) return block;
  return nullptr;
}

bool keep(void* block) noexcept {
  for (std::atomic<void*>& one : kept) {
    void* none = nullptr;
    if (one.compare_exchange_strong(none, block, std::memory_order_release, std::memory_order_relaxed)) return true;
  }
  return false;
}

// A separate mapping, aligned for a huge page.
void* map_large() noexcept {
  if (void* const block = take_kept()) return block;
  void* const mapped = mmap(nullptr, 2 * kLargeBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(mapped);
  const size_t before = (kLargeBlock - reinterpret_cast<uintptr_t>(begin) % kLargeBlock) % kLargeBlock;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + kLargeBlock, kLargeBlock - before);
  madvise(begin + before, kLargeBlock, MADV_HUGEPAGE);  // if there are no huge pages, nothing changes
  return begin + before;
}

}  // namespace

void* take_block(size_t bytes) noexcept {
  return is_large(bytes) ? map_large() : std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
}

void give_block(void* block, size_t bytes) noexcept {
  if (!is_large(bytes))
    std::free(block);
  else if (!keep(block))
    munmap(block, kLargeBlock);
}

}  // namespace kymo::edge
