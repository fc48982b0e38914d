// Parses the pieces of a Chrome trace with several threads, and hands out the results in the order of the file.
//
// Each thread takes the next piece, parses it, and applies all results whose turn has come. So there is no thread that
// only waits, and one thread does the same as several. At most kAhead pieces for each thread are in memory.
//
// If a piece ends inside an event, the pieces after it began at the wrong place. When its turn comes, all threads stop,
// and the text of these pieces is cut again (json_pieces.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "import/chrome_piece.h"
#include "import/json_pieces.h"

namespace kymo::import {

class OrderedPieces {
 public:
  struct Work {
    JsonPiece piece;
    ChromePiece result;
  };
  // Called by several threads at once, with the number of the thread.
  using Parse = std::function<void(unsigned thread, Work& work)>;
  // Called by one thread at a time, in the order of the file.
  using Apply = std::function<void(unsigned thread, Work& work)>;

  OrderedPieces(JsonPieces& pieces, Parse parse, Apply apply);

  // Returns at the end of the file. Throws what one of the functions threw.
  void run(unsigned threads);

 private:
  static constexpr size_t kAhead = 2;
  struct Slot {
    std::unique_ptr<Work> work;
    bool is_parsed = false;
  };

  void run_thread(unsigned thread) noexcept;
  void work(unsigned thread);
  bool take(std::unique_lock<std::mutex>& lock, uint64_t& number, std::unique_ptr<Work>& work);
  void apply_parsed(std::unique_lock<std::mutex>& lock, unsigned thread);
  void cut_again(std::unique_lock<std::mutex>& lock);
  Slot& slot(uint64_t number) { return slots_[number % slots_.size()]; }

  JsonPieces& pieces_;
  const Parse parse_;
  const Apply apply_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Work>> unused_;
  uint64_t next_ = 0;              // the number of the next piece
  uint64_t applied_ = 0;           // pieces that were applied
  uint64_t after_last_guess_ = 0;  // the number after the last guessed piece
  unsigned parsing_ = 0;           // threads
  bool is_reading_ = false, is_applying_ = false, is_at_end_ = false, is_cutting_again_ = false;
  std::exception_ptr failure_;
};

}  // namespace kymo::import
