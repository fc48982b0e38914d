#include "import/ordered_pieces.h"

#include <system_error>
#include <thread>
#include <utility>

namespace kymo::import {
namespace {

constexpr size_t kMostKept = 4 << 20;  // memory of a piece with a very long event is not kept

}  // namespace

OrderedPieces::OrderedPieces(JsonPieces& pieces, Parse parse, Apply apply)
    : pieces_(pieces), parse_(std::move(parse)), apply_(std::move(apply)) {}

void OrderedPieces::run(unsigned threads) {
  slots_.resize(kAhead * threads);
  std::vector<std::thread> others;
  try {
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([this, i] { run_thread(i); });
  } catch (const std::system_error&) {
    // The system gives no more threads. Fewer are enough.
  }
  run_thread(0);
  for (std::thread& other : others) other.join();
  if (failure_) std::rethrow_exception(failure_);
}

void OrderedPieces::run_thread(unsigned thread) noexcept {
  try {
    work(thread);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  changed_.notify_all();
}

void OrderedPieces::work(unsigned thread) {
  std::unique_lock lock(mutex_);
  uint64_t number = 0;
  for (std::unique_ptr<Work> taken; take(lock, number, taken);) {
    ++parsing_;
    lock.unlock();
    parse_(thread, *taken);
    lock.lock();
    --parsing_;
    slot(number) = {std::move(taken), true};
    changed_.notify_all();
    apply_parsed(lock, thread);
  }
}

// The next piece. False: there is none, or another thread failed.
bool OrderedPieces::take(std::unique_lock<std::mutex>& lock, uint64_t& number, std::unique_ptr<Work>& work) {
  for (;;) {
    changed_.wait(lock, [this] {
      const bool may_read = !is_reading_ && !is_cutting_again_ && next_ < applied_ + slots_.size();
      return failure_ || (is_at_end_ && applied_ == next_) || (may_read && !is_at_end_);
    });
    if (failure_ || is_at_end_) return false;
    if (unused_.empty()) unused_.push_back(std::make_unique<Work>());
    work = std::move(unused_.back());
    unused_.pop_back();
    const bool is_certain = applied_ >= after_last_guess_;
    const uint64_t applied = applied_;
    is_reading_ = true;
    lock.unlock();
    JsonPieces::Next next = JsonPieces::Next::End;
    std::exception_ptr failure;
    try {
      next = pieces_.next(work->piece, is_certain);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    is_reading_ = false;
    changed_.notify_all();
    if (failure) std::rethrow_exception(failure);
    if (next == JsonPieces::Next::Piece) {
      number = next_++;
      if (work->piece.is_guessed) after_last_guess_ = next_;
      return true;
    }
    unused_.push_back(std::move(work));
    if (next == JsonPieces::Next::End) {
      is_at_end_ = true;
    } else {
      changed_.wait(lock, [&] { return failure_ || applied_ != applied || applied_ >= after_last_guess_; });
    }
  }
}

void OrderedPieces::apply_parsed(std::unique_lock<std::mutex>& lock, unsigned thread) {
  if (is_applying_) return;
  is_applying_ = true;
  while (!failure_ && applied_ < next_ && slot(applied_).is_parsed) {
    if (slot(applied_).work->result.ends_inside_event) {
      cut_again(lock);
      break;
    }
    std::unique_ptr<Work> work = std::exchange(slot(applied_), {}).work;
    lock.unlock();
    apply_(thread, *work);
    lock.lock();
    ++applied_;
    if (work->piece.buffer.size() > kMostKept) work->piece.buffer = {};
    unused_.push_back(std::move(work));
    changed_.notify_all();
  }
  is_applying_ = false;
}

// The piece whose turn it is ends inside an event.
void OrderedPieces::cut_again(std::unique_lock<std::mutex>& lock) {
  is_cutting_again_ = true;
  changed_.wait(lock, [this] { return failure_ || (parsing_ == 0 && !is_reading_); });
  if (!failure_) {
    std::vector<const JsonPiece*> pieces;
    for (uint64_t i = applied_; i < next_; ++i) pieces.push_back(&slot(i).work->piece);
    pieces_.put_back(pieces);
    for (uint64_t i = applied_; i < next_; ++i) unused_.push_back(std::exchange(slot(i), {}).work);
    next_ = after_last_guess_ = applied_;
  }
  is_cutting_again_ = false;
  changed_.notify_all();
}

}  // namespace kymo::import
