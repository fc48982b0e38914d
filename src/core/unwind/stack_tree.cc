#include "unwind/stack_tree.h"

#include <string.h>

namespace kymo::unwind {
namespace {

constexpr uint32_t kFirstEntries = 512, kMaxEntries = 1u << 23;  // 128 MiB: four million stacks per thread

}  // namespace

StackTree::Entry* StackTree::place_of(Node parent, uintptr_t address) const noexcept {
  auto at = static_cast<uint32_t>(((address + parent * 0x9e3779b9ull) * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  while (entries_[at].node != 0 && (entries_[at].address != address || entries_[at].parent != parent))
    at = (at + 1) & mask_;
  return entries_ + at;
}

bool StackTree::grow() noexcept {
  const uint32_t old_size = entries_ != nullptr ? mask_ + 1 : 0, size = old_size != 0 ? old_size * 2 : kFirstEntries;
  if (size > kMaxEntries) return false;
  auto* entries = static_cast<Entry*>(take_pages(size * sizeof(Entry)));
  if (entries == nullptr) return false;
  Entry* old = entries_;
  entries_ = entries;
  mask_ = size - 1;
  for (uint32_t i = 0; i < old_size; ++i)
    if (old[i].node != 0) *place_of(old[i].parent, old[i].address) = old[i];
  give_back_pages(old, old_size * sizeof(Entry));
  return true;
}

Node StackTree::child(Node parent, uintptr_t address, bool& fresh) noexcept {
  fresh = false;
  if (entries_ == nullptr && !grow()) return kNoStack;
  Entry* entry = place_of(parent, address);
  if (entry->node != 0) return entry->node;
  if (used_ * 2 > mask_) {
    if (!grow()) return kNoStack;
    entry = place_of(parent, address);
  }
  fresh = true;
  *entry = {address, parent, kFirstNode + used_++};
  return entry->node;
}

void StackTree::take_back(Node parent, uintptr_t address) noexcept {
  if (entries_ == nullptr) return;
  // The newest entry is the last one of its probe sequence, so its removal does not hide other entries.
  Entry* entry = place_of(parent, address);
  if (entry->node != kFirstNode + used_ - 1) return;
  *entry = {};
  --used_;
}

void StackTree::forget() noexcept {
  if (used_ != 0) memset(static_cast<void*>(entries_), 0, (size_t{mask_} + 1) * sizeof(Entry));
  used_ = 0;
}

void StackTree::release() noexcept {
  give_back_pages(entries_, (size_t{mask_} + 1) * sizeof(Entry));
  entries_ = nullptr;
  mask_ = used_ = 0;
}

}  // namespace kymo::unwind
