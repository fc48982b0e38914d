// What processes say that could not record: the recorder's end of record/refusal.h.
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
  // Throws kymo::NotAvailable where there is no such socket to be had.
  explicit Refusals(const SessionId& session);
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // The processes that have said so since the last call.
  std::vector<Refusal> take();

 private:
  int socket_;
};

}  // namespace kymo::collect
