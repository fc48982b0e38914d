// Two pushes that give the same traces different labels at the same time.
//
// They write the traces in turns, and would leave some of each. So each of them looks after its last trace for traces
// with labels of the other one, and pushes them again: the last one to look leaves all of them as its own. They wait
// for random times, so that they do not look at the same time again and again.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace kymo::push {

using Files = std::vector<std::string>;

// `find` returns the files whose traces have other labels now; they are given to `push_again` after `wait`, until there
// are none. Throws kymo::Error after kMostConflicts of them, and what these functions throw.
inline constexpr int kMostConflicts = 10;
void settle_labels(const std::function<Files()>& find, const std::function<void(const Files&)>& push_again,
                   const std::function<void(std::chrono::milliseconds)>& wait);

}  // namespace kymo::push
