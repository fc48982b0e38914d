// The event chunks of a trace in file order, decoded by helper threads before they are asked for.
//
// Decoding a chunk needs nothing from the chunks before it, adding up does; so the one is spread over the cores and the
// other stays in order and needs no lock. The consumer decodes too while it would only wait. At most a few chunks are
// held at once, and their memory is used again.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trace/reader.h"

namespace kymo::analyze {

class DecodeAhead {
 public:
  struct Item {
    const trace::EventChunk* chunk = nullptr;
    trace::EventBatch batch;
    std::string error;  // why the chunk cannot be read; then `batch` means nothing
  };
  // Called by several threads at once. A kymo::Error it throws becomes the item's error; anything else comes out of
  // next().
  using Decode = std::function<void(const trace::EventChunk&, trace::EventBatch& into)>;

  DecodeAhead(const std::vector<trace::EventChunk>& chunks, Decode decode, unsigned helpers);
  ~DecodeAhead();
  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;

  // The next chunk, or null after the last. What it points to is good until the next call.
  const Item* next();

 private:
  struct Slot {
    Item item;
    bool ready = false;
    std::exception_ptr failure;
  };

  Slot& slot_of(size_t chunk) { return slots_[chunk % slots_.size()]; }
  bool may_claim() const { return claimed_ < chunks_.size() && claimed_ < consumed_ + slots_.size(); }
  void decode_one(std::unique_lock<std::mutex>& lock);
  void help();

  const std::vector<trace::EventChunk>& chunks_;
  const Decode decode_;

  std::mutex mutex_;
  std::condition_variable may_have_work_, became_ready_;
  std::vector<Slot> slots_;
  size_t claimed_ = 0;   // chunks handed to somebody to decode
  size_t consumed_ = 0;  // chunks the consumer is done with
  size_t next_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> helpers_;
};

}  // namespace kymo::analyze
