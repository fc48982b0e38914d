// Receives messages of processes that could not record: the recorder's side of record/refusal.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/options.h"

namespace kymo::collect {

struct Refusal {
  uint64_t pid;
  std::string why;
};

class Refusals {
 public:
  // Throws kymo::NotAvailable if the socket cannot be created.
  explicit Refusals(const SessionId& session);
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // The messages since the last call. None after close().
  std::vector<Refusal> take();

  // From now on, processes see that the recorder has ended. Also for a forked child, which inherits the socket.
  void close() noexcept;

 private:
  bool is_open() const noexcept;  // a program may close all its files, and reuse their numbers

  int socket_;
  uint64_t inode_ = 0;
};

}  // namespace kymo::collect
