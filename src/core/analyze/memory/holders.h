// The groups of a profile as text, for the rows of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/memory/profile.h"

namespace kymo::memory {

enum class GroupBy : uint8_t { Stack, Range, Size };

const std::vector<Group>& groups_by(const Profile& profile, GroupBy by);

// At most `most` groups that have something in `which`, largest first.
std::vector<Group> largest(const std::vector<Group>& groups, Holding Group::*which, size_t most);

// The same, but stacks with equal text are one group, for example from two calls on one line or from two processes. If
// there are very many stacks, only the 2,000 largest are compared.
std::vector<Group> distinct(Profile& profile, GroupBy by, Holding Group::*which, size_t most);

struct Holder {
  std::string name;   // the first meaningful function, the range, "4096 bytes"; never empty
  std::string where;  // "model.cc:42"; empty if not known
  std::vector<symbols::Frame> frames;
};
Holder describe(Profile& profile, const Group& group, GroupBy by);

// The number of frames without those that run before main or before a thread's own function.
size_t informative_frames_end(const std::vector<symbols::Frame>& frames);
std::string place_of(const symbols::Frame& frame);               // "model.cc:42", "libfoo.so"; empty: not known
std::string memory_name(const Profile& profile, size_t memory);  // "heap", "cuda:0 of train (4711)"

}  // namespace kymo::memory
