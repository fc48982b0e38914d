// Replies that are longer than a message: sent as several messages, all except the last with `more` set.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "wire/field_codec.h"
#include "wire/message.h"

namespace kymo::daemon {

// `empty` is the reply without its items; `list` is the member for the items. Each part is passed to `send`.
template <class Reply, class Item>
void send_in_parts(const Reply& empty, std::vector<Item> Reply::*list, std::vector<Item> items,
                   const std::function<void(Reply)>& send) {
  // Leaves space for the rest of the message, which may have a long text.
  constexpr size_t kRoom = wire::kLargestMessage - 8 * 1024;
  Reply part = empty;
  size_t used = 0;
  for (Item& item : items) {
    base::ByteWriter bytes;
    wire::FieldWriter fields(bytes);
    each_field(std::as_const(item), fields);
    const size_t size = bytes.size() + wire::kFieldHeadBytes;
    if (!(part.*list).empty() && (used + size > kRoom || (part.*list).size() == wire::kMaxItems)) {
      part.more = true;
      send(std::exchange(part, empty));
      used = 0;
    }
    (part.*list).push_back(std::move(item));
    used += size;
  }
  part.more = false;
  send(std::move(part));
}

}  // namespace kymo::daemon
