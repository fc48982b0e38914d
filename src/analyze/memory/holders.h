// The groups of a profile in words: what a row of a table says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/memory/profile.h"

namespace kymo::memory {

enum class GroupBy : uint8_t { Stack, Range, Size };

const std::vector<Group>& groups_by(const Profile& profile, GroupBy by);

// The `most` groups that hold something of this, largest first.
std::vector<Group> largest(const std::vector<Group>& groups, Holding Group::*which, size_t most);

// The same, as a person tells them apart: stacks that read the same, from two calls on one line or from two processes,
// are one. Of very many stacks the 2,000 largest are compared.
std::vector<Group> distinct(Profile& profile, GroupBy by, Holding Group::*which, size_t most);

struct Holder {
  std::string name;   // the telling function, the range, "4096 bytes"; never empty
  std::string where;  // "model.cc:42"; empty where it is not known
  std::vector<symbols::Frame> frames;
};
Holder describe(Profile& profile, const Group& group, GroupBy by);

// Without what runs before main and before a thread's own function.
size_t telling_frames_end(const std::vector<symbols::Frame>& frames);
std::string place_of(const symbols::Frame& frame);               // "model.cc:42", "libfoo.so"; empty: not known
std::string memory_name(const Profile& profile, size_t memory);  // "heap", "cuda:0 of train (4711)"

}  // namespace kymo::memory
