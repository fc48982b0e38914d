// Records the events of NVTX: from a domain and a message to records in the ring of the calling thread.
//
// All functions may be called from any thread, also in a signal handler, and at any time. If nothing records they only
// keep the depths.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "inject/nvtx/abi.h"
#include "inject/nvtx/domain.h"
#include "inject/nvtx/payload_decoder.h"
#include "kymo/kymo.h"
#include "record/layout.h"
#include "record/ring.h"

namespace kymo::inject::nvtx {

// Nested ranges. Return the depth on this thread and in this domain; kNoTracking if there is no memory.
int push_text(Domain& domain, const char* text) noexcept;
int push_event(Domain& domain, const EventAttributes* event) noexcept;
int pop(Domain& domain) noexcept;

// Ranges across threads. The id is unique in the process and never 0.
uint64_t start_range(Domain& domain, std::string_view text) noexcept;
uint64_t start_range(Domain& domain, const EventAttributes* event) noexcept;
void end_range(uint64_t handle) noexcept;

void mark(Domain& domain, std::string_view text) noexcept;
void mark(Domain& domain, const EventAttributes* event) noexcept;

// An event with arguments. `name` is a name of Kymo: it may have places for them. Only while recording.
void store_with_args(record::Kind kind, Domain& domain, std::string_view name, const kymo_arg* args, uint32_t count,
                     uint64_t handle = 0, uint32_t colour = 0) noexcept;

// A nested range on a stack of its own. Only while recording.
inline constexpr uint16_t kSyncStack = record::kAnyStack - 1;
void begin_on_stack(Domain& domain, std::string_view text, uint16_t stack) noexcept;
void end_on_stack(uint16_t stack) noexcept;

// A call although nothing records: the adapter becomes dormant.
void idle_call() noexcept;

inline constexpr size_t kMaxPayloads = 16;  // of one event

// The label and the arguments of an event with attributes: its colour, its category and its payload.
class EventArgs {
 public:
  // `event` may be null, and is valid only during the call of the program. Reads no more bytes of it than it has.
  EventArgs(Domain& domain, const EventAttributes* event) noexcept;
  EventArgs(const EventArgs&) = delete;
  EventArgs& operator=(const EventArgs&) = delete;

  kymo_label& label() noexcept { return label_; }
  const kymo_arg* data() const noexcept { return args_; }
  uint32_t count() const noexcept { return count_; }

 private:
  EventArgs(Domain& domain, const EventAttributes& event) noexcept;
  void add(const char* name, kymo_type type, uint64_t bits) noexcept;
  void add_text(const char* name, std::string_view text) noexcept;
  void add_extended(Domain& domain, const EventAttributes& event) noexcept;
  void add_category(Domain& domain, uint32_t number) noexcept;
  void set_colour(uint32_t argb) noexcept;
  void add_value(int32_t type, const PayloadValue& value) noexcept;

  kymo_label label_;
  Text message_;
  uint32_t count_ = 0;
  kymo_arg args_[record::kMaxStoredArgs];
  std::optional<DecodedPayload> decoded_;
};

}  // namespace kymo::inject::nvtx
