#include "inject/nvtx/event_args.h"

#include <string.h>

#include <algorithm>
#include <bit>

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kOpaque = 0xff000000;

// As much as the caller's structure has. Older callers have a shorter one; the rest is zero.
EventAttributes read(const EventAttributes* event) noexcept {
  EventAttributes known{};
  if (event == nullptr) return known;
  uint16_t head[2];
  memcpy(head, event, sizeof head);
  memcpy(&known, event, std::min<size_t>(std::max<size_t>(head[1], sizeof head), sizeof known));
  return known;
}

}  // namespace

EventArgs::EventArgs(Domain& domain, const EventAttributes* event) noexcept : EventArgs(domain, read(event)) {}

EventArgs::EventArgs(Domain& domain, const EventAttributes& event) noexcept
    : message_(event.message_type, event.message) {
  label_ = {nullptr, domain.name, 0, domain.name_length, 0};
  if (event.colour_type == kArgb) set_colour(event.colour);
  if (event.category != 0) add_category(domain, event.category);
  if (event.payload_type == kExtended)
    add_extended(domain, event);
  else
    add_value(event.payload_type, event.payload);
  const std::string_view name = count_ == 0 ? message_.view() : message_.as_name();
  label_.name = name.data();
  label_.name_length = static_cast<uint32_t>(name.size());
}

// Some callers leave the alpha 0 and mean a visible colour.
void EventArgs::set_colour(uint32_t argb) noexcept { label_.colour = argb | ((argb & kOpaque) == 0 ? kOpaque : 0); }

void EventArgs::add_category(Domain& domain, uint32_t number) noexcept {
  const std::string_view category = category_name(domain, number);
  if (category.empty())
    add("category", KYMO_UINT, number);
  else
    add_text("category", category);
}

// The payloads may also contain the message, the colour and the category. Without any message, the name of the schema
// is the name of the event.
void EventArgs::add_extended(Domain& domain, const EventAttributes& event) noexcept {
  const auto* const payloads = static_cast<const PayloadData*>(event.payload.as_pointer);
  if (payloads == nullptr || event.payload_count <= 0) return;
  const size_t count = std::min<size_t>(static_cast<size_t>(event.payload_count), kMaxPayloads);
  decoded_.emplace(domain, std::span(payloads, count));
  if (decoded_->colour() != 0) set_colour(decoded_->colour());
  if (decoded_->category() != 0 && event.category == 0) add_category(domain, decoded_->category());
  for (const kymo_arg& arg : decoded_->args())
    if (count_ < record::kMaxStoredArgs) args_[count_++] = arg;
  const bool has_message = event.message_type != kNoMessage;
  std::string_view name = decoded_->message();
  if (name.empty() && !has_message) name = decoded_->schema_name();
  if (!name.empty()) message_.set_view(name);
}

void EventArgs::add(const char* name, kymo_type type, uint64_t bits) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name, {}, 0, static_cast<uint32_t>(type)};
  made.value.as_uint = bits;
}

void EventArgs::add_text(const char* name, std::string_view text) noexcept {
  if (count_ == record::kMaxStoredArgs) return;
  kymo_arg& made = args_[count_++];
  made = {name, {}, static_cast<uint32_t>(text.size()), KYMO_STRING};
  made.value.as_text = text.data();
}

void EventArgs::add_value(int32_t type, const PayloadValue& value) noexcept {
  switch (type) {
    case kUint64:
      return add("value", KYMO_UINT, value.as_uint64);
    case kUint32:
      return add("value", KYMO_UINT, value.as_uint32);
    case kInt64:
      return add("value", KYMO_INT, value.as_uint64);
    case kInt32:
      return add("value", KYMO_INT, static_cast<uint64_t>(int64_t{value.as_int32}));
    case kDouble:
      return add("value", KYMO_DOUBLE, std::bit_cast<uint64_t>(value.as_double));
    case kFloat:
      return add("value", KYMO_DOUBLE, std::bit_cast<uint64_t>(double{value.as_float}));
    default:
      return;
  }
}

}  // namespace kymo::inject::nvtx
