// Reads the event chunks of a trace in file order. Helper threads decode them before they are requested.
//
// A chunk can be decoded without the chunks before it, so all cores decode. Summing needs them in order, so one thread
// sums and needs no lock. The consumer also decodes when it would otherwise wait. Only a few chunks are in memory at a
// time, and their memory is reused.
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
    std::string error;  // why the chunk cannot be read; then `batch` is not valid
  };
  // Called by several threads at once. A kymo::Error that it throws becomes the item's error. next() rethrows anything
  // else.
  using Decode = std::function<void(const trace::EventChunk&, trace::EventBatch& into)>;

  DecodeAhead(const std::vector<trace::EventChunk>& chunks, Decode decode, unsigned helpers = usual_helpers());
  ~DecodeAhead();
  DecodeAhead(const DecodeAhead&) = delete;
  DecodeAhead& operator=(const DecodeAhead&) = delete;

  // The next chunk, or null after the last one. The pointer is valid until the next call.
  const Item* next();

 private:
  static unsigned usual_helpers();

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
  size_t claimed_ = 0;   // chunks that a thread decodes or has decoded
  size_t consumed_ = 0;  // chunks that the consumer has finished
  size_t next_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> helpers_;
};

}  // namespace kymo::analyze
