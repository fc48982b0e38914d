// Which ranges are iterations, by their names: what the agent counts and what `kymo report` divides must be the same.
#pragma once

#include <string>
#include <string_view>

namespace kymo::base {

// "step", "step 7", "iteration_3", "ProfilerStep#12", in upper or lower case; but not "stepper". Needs no allocation.
inline bool names_iteration(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (const std::string_view word :
       {std::string_view("step"), std::string_view("iteration"), std::string_view("profilerstep")}) {
    if (name.size() < word.size()) continue;
    bool same = true;
    for (size_t i = 0; i < word.size() && same; ++i) same = lower(name[i]) == word[i];
    if (same && (name.size() == word.size() || !is_letter(name[word.size()]))) return true;
  }
  return false;
}

// PyTorch has a range in every training loop, also in one that nobody has annotated: the end of an iteration. The agent
// counts it if it sees no other.
inline bool names_optimizer_step(std::string_view name) noexcept { return name.starts_with("Optimizer.step#"); }
inline bool may_begin_iteration(std::string_view name) noexcept {
  return names_iteration(name) || names_optimizer_step(name);
}

// The name that all iterations have: "step 7" is "step {}", as a program would write it with a value. Other names stay.
inline std::string without_iteration_number(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789") + 1;
  if (end == name.size() || !names_iteration(name)) return std::string(name);
  return std::string(name.substr(0, end)) + "{}";
}

}  // namespace kymo::base
