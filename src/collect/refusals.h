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

  // The messages since the last call.
  std::vector<Refusal> take();

 private:
  int socket_;
};

}  // namespace kymo::collect
