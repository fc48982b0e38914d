// What a command buffer of the program contains, and which queries have its times.
//
// It is made when the program begins the command buffer while something records. A command buffer may be submitted many
// times: every submission shares this description, and has its own times. It stays until the last one is in the trace,
// also if the program has recorded the command buffer again meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "inject/vulkan/layer.h"
#include "kymo/annotate.h"

namespace kymo::inject::vulkan {

// Timestamp queries for the command buffers of the program.
//
// A command buffer does not say how many commands it will have, so queries come in chunks. The chunks of one that is
// recorded again, or freed, are used for others. Thread-safe.
class QueryChunks {
 public:
  static constexpr uint32_t kQueries = 128;  // of a chunk

  void open(VkDevice device, const DeviceFunctions& next) noexcept {
    device_ = device;
    next_ = &next;
  }
  // The device is destroyed.
  void close() noexcept;
  // The device is destroyed while it may still use some: they are left to the driver.
  void abandon() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all_.clear();
    free_.clear();
  }

  // VK_NULL_HANDLE: the driver has no more.
  VkQueryPool take() noexcept;
  void give_back(const std::vector<VkQueryPool>& chunks) noexcept;

 private:
  static constexpr size_t kMax = 4096;  // half a million commands

  VkDevice device_ = VK_NULL_HANDLE;
  const DeviceFunctions* next_ = nullptr;
  std::mutex mutex_;
  std::vector<VkQueryPool> free_, all_;
  bool closed_ = false;
};

// The arguments that a command has in the trace.
enum class Form : uint8_t { Groups, Draws, Bytes, Texels, Plain };

struct Step {
  enum class Kind : uint8_t { Work, BeginPass, EndPass, BeginLabel, EndLabel, Mark, Execute };
  static constexpr uint32_t kNoQuery = UINT32_MAX;

  Kind kind = Kind::Work;
  Form form = Form::Plain;
  Site* site = nullptr;  // of work and passes; lives as long as the process
  uint32_t begin = kNoQuery, end = kNoQuery;
  std::array<uint64_t, 3> sizes{};
  uint32_t extra = 0;  // the label's text, or the secondary command buffer
};

// One thread at a time writes it, as Vulkan demands of command buffers. From its first submission on it is constant.
class RecordedCommands {
 public:
  explicit RecordedCommands(std::shared_ptr<QueryChunks> chunks) : chunks_(std::move(chunks)) {}
  ~RecordedCommands() { chunks_->give_back(pools_); }
  RecordedCommands(const RecordedCommands&) = delete;
  RecordedCommands& operator=(const RecordedCommands&) = delete;

  // The next query; kNoQuery: there is none left.
  uint32_t take_query() noexcept;
  VkQueryPool pool_of(uint32_t query) const { return pools_[query / QueryChunks::kQueries]; }

  // Throw std::bad_alloc.
  Step& add(const Step& step) { return steps_.emplace_back(step); }
  uint32_t add_text(const char* text);
  uint32_t add_secondary(std::shared_ptr<const RecordedCommands> commands);

  const std::vector<Step>& steps() const { return steps_; }
  const std::string& text(const Step& step) const { return texts_[step.extra]; }
  const RecordedCommands& secondary(const Step& step) const { return *secondaries_[step.extra]; }

  // All queries that a submission writes: its own, then those of secondary command buffers, in the order of the steps.
  // Calls visit(pool, count) for each part of a chunk.
  template <class Visit>
  void each_part(Visit&& visit) const {
    for (uint32_t at = 0; at < queries_; at += QueryChunks::kQueries)
      visit(pool_of(at), queries_ - at < QueryChunks::kQueries ? queries_ - at : QueryChunks::kQueries);
    for (const auto& one : secondaries_) one->each_part(visit);
  }
  uint32_t query_count() const { return queries_; }
  uint32_t all_query_count() const;
  uint32_t command_count() const;  // work, also of secondary command buffers

  // For the recorder, under its lock: submissions that are not in the trace yet, and their queue.
  mutable uint32_t pending = 0;
  mutable const void* queue = nullptr;

 private:
  std::shared_ptr<QueryChunks> chunks_;
  std::vector<VkQueryPool> pools_;
  std::vector<Step> steps_;
  std::vector<std::string> texts_;
  std::vector<std::shared_ptr<const RecordedCommands>> secondaries_;
  uint32_t queries_ = 0;
};

}  // namespace kymo::inject::vulkan
