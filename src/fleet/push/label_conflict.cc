#include "push/label_conflict.h"

#include <algorithm>
#include <random>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::push {

void settle_labels(const std::function<Files()>& find, const std::function<void(const Files&)>& push_again,
                   const std::function<void(std::chrono::milliseconds)>& wait) {
  std::minstd_rand random{std::random_device{}()};
  std::chrono::milliseconds longest{200};
  for (int left = kMostConflicts;; --left) {
    const Files files = find();
    if (files.empty()) return;
    if (left == 0)
      throw Error(
          base::format("another push gives {} of these traces another job or rank at the same time: end one of them, "
                       "then run the same command again",
                       files.size()));
    wait(std::chrono::milliseconds(random() % static_cast<uint64_t>(longest.count() + 1)));
    push_again(files);
    longest = std::min(longest * 2, std::chrono::milliseconds(10'000));
  }
}

}  // namespace kymo::push
