// Copies and fills.

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "device/vulkan/stream_queue.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

constexpr size_t kLargestCopy = size_t{1} << 30;    // some drivers count a region's bytes in 31 bits
constexpr size_t kPatternBytes = size_t{64} << 10;  // written by the host; the rest is copied from it
constexpr size_t kDownloadsUnderWay = 3;            // fewer than fill the staging ring: it must not wrap

constexpr size_t kWord = sizeof(uint32_t);

}  // namespace

StreamQueue::Place StreamQueue::device_place(Address address, size_t bytes) {
  const AddressRange* range = device_cache_.find(address);
  if (range == nullptr || bytes > range->end - address)
    throw DeviceError(base::format("vulkan: {} bytes at {:#x} are not memory of this device", bytes, address));
  return {range->buffer, range->offset_of(address)};
}

std::optional<StreamQueue::Place> StreamQueue::pinned_place(const void* memory, size_t bytes) {
  if (context_.host_memory().empty()) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const AddressRange* range = host_cache_.find(address);
  if (range == nullptr || bytes > range->end - address) return std::nullopt;
  return Place{range->buffer, range->offset_of(address)};
}

Staging::Space StreamQueue::stage(size_t bytes, Staging& ring) {
  for (;;) {
    if (const auto space = ring.take(bytes, next_value())) return *space;
    const uint64_t oldest = ring.oldest();
    if (oldest > submitted_) submit();
    timeline_->wait(oldest);
  }
}

void StreamQueue::copy_buffer(const Place& from, const Place& to, size_t bytes) {
  const VkCommandBuffer commands = open();
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kLargestCopy);
    const VkBufferCopy region{from.offset + done, to.offset + done, part};
    context_.api().vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
    done += part;
  }
}

void StreamQueue::copy(Address from, Address to, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place source = bytes == 0 ? Place{} : device_place(from, bytes);
  const Place target = bytes == 0 ? Place{} : device_place(to, bytes);
  begin(ticket);
  copy_buffer(source, target, bytes);
  end(ticket);
}

void StreamQueue::upload(const void* from, Address to, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place target = bytes == 0 ? Place{} : device_place(to, bytes);
  const std::optional<Place> pinned = bytes == 0 ? std::nullopt : pinned_place(from, bytes);
  begin(ticket);
  if (pinned) {
    copy_buffer(*pinned, target, bytes);
    return end(ticket);
  }
  const auto* source = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, Staging::kLargest);
    const Staging::Space space = stage(part);
    std::memcpy(space.host, source + done, part);
    copy_buffer({space.buffer, space.offset}, {target.buffer, target.offset + done}, part);
    done += part;
    if (done < bytes) submit();  // the device copies this part while the next is being written
  }
  end(ticket);
}

void StreamQueue::download(Address from, void* to, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place source = bytes == 0 ? Place{} : device_place(from, bytes);
  const std::optional<Place> pinned = bytes == 0 ? std::nullopt : pinned_place(to, bytes);
  begin(ticket);
  if (pinned || bytes == 0) {
    if (pinned) copy_buffer(source, *pinned, bytes);
    barrier(VK_ACCESS_HOST_READ_BIT, VK_PIPELINE_STAGE_HOST_BIT);
    return end(ticket);
  }
  download_staged(source, static_cast<std::byte*>(to), bytes, ticket);
}

void StreamQueue::download_staged(const Place& from, std::byte* to, size_t bytes, Ticket* ticket) {
  struct Part {
    const std::byte* host;
    size_t bytes;
    uint64_t value;
  };
  std::array<Part, kDownloadsUnderWay> parts;
  size_t queued = 0, copied = 0, first = 0, count = 0;
  while (copied < bytes) {
    while (queued < bytes && count < parts.size()) {
      const size_t part = std::min(bytes - queued, Staging::kLargest);
      const Staging::Space space = stage(part);
      copy_buffer({from.buffer, from.offset + queued}, {space.buffer, space.offset}, part);
      barrier(VK_ACCESS_HOST_READ_BIT, VK_PIPELINE_STAGE_HOST_BIT);
      queued += part;
      if (queued == bytes) end(ticket);
      submit();
      parts[(first + count++) % parts.size()] = {space.host, part, submitted_};
    }
    const Part& part = parts[first];
    timeline_->wait(part.value);
    std::memcpy(to + copied, part.host, part.bytes);
    copied += part.bytes;
    first = (first + 1) % parts.size();
    --count;
  }
}

void StreamQueue::fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place target = bytes == 0 ? Place{} : device_place(to, bytes);
  std::array<std::byte, 16> block;
  for (size_t i = 0; i < block.size(); i += pattern_bytes) std::memcpy(block.data() + i, pattern, pattern_bytes);
  std::array<uint32_t, 4> words;
  std::memcpy(words.data(), block.data(), block.size());
  begin(ticket);
  if (bytes != 0) {
    if (std::ranges::count(words, words[0]) == static_cast<ptrdiff_t>(words.size()))
      fill_words(target, words[0], bytes);
    else
      fill_pattern(target, block.data(), pattern_bytes, bytes);
  }
  end(ticket);
}

// vkCmdFillBuffer takes whole, aligned words. The bytes before and after them are copied; they begin and end with a
// whole pattern.
void StreamQueue::fill_words(const Place& to, uint32_t word, size_t bytes) {
  const size_t head = std::min<size_t>((kWord - to.offset % kWord) % kWord, bytes);
  const size_t middle = (bytes - head) / kWord * kWord, tail = bytes - head - middle;
  if (head + tail != 0) {
    const Staging::Space space = stage(kWord);
    std::memcpy(space.host, &word, kWord);
    copy_buffer({space.buffer, space.offset}, to, head);
    copy_buffer({space.buffer, space.offset}, {to.buffer, to.offset + head + middle}, tail);
  }
  if (middle != 0) context_.api().vkCmdFillBuffer(open(), to.buffer, to.offset + head, middle, word);
}

// The host writes the first part; the filled part is then copied after itself, twice as much each time.
void StreamQueue::fill_pattern(const Place& to, const std::byte* pattern, uint32_t pattern_bytes, size_t bytes) {
  size_t done = std::min(bytes, kPatternBytes);
  const Staging::Space space = stage(done);
  for (size_t i = 0; i < done; i += pattern_bytes) std::memcpy(space.host + i, pattern, pattern_bytes);
  copy_buffer({space.buffer, space.offset}, to, done);
  while (done < bytes) {
    const size_t part = std::min(done, bytes - done);
    barrier(VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT);
    copy_buffer(to, {to.buffer, to.offset + done}, part);
    done += part;
  }
}

}  // namespace kymo::device::vulkan
