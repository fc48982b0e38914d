#include "push/collective_rows.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "analyze/report/process_group.h"
#include "base/hash.h"
#include "base/text.h"

namespace kymo::push {
namespace {

// The trace of a rank that is not one of the group has a wrong rank, and must not stand for one that is missing.
bool may_be_member(int32_t rank, const analyze::ProcessGroup& group) {
  const auto list = analyze::ranks_in(group.name);
  return !list || rank < 0 || std::binary_search(list->ranks.begin(), list->ranks.end(), static_cast<uint32_t>(rank));
}

// A number that all ranks of the group have for the same call of a collective, and no other call has.
uint64_t same_call(const RowHead& head, uint64_t iteration, const analyze::CollectiveCalls& calls,
                   const analyze::CollectiveCall& call, bool is_member) {
  const std::string &group = calls.groups[call.group].name, &name = calls.names[call.name];
  const std::string key = base::format(
      "{}{}{} {} {} {} {} {} {} {}{}{}", is_member ? "" : base::format("rank {} ", head.rank),
      head.run.empty() ? "" : base::format("run {} {}", head.run.size(), head.run), iteration, call.sequence, call.call,
      call.calls, static_cast<int>(call.waiting), head.job.size(), group.size(), head.job, group, name);
  return base::hash(std::as_bytes(std::span(key)));
}

}  // namespace

void add_collectives(Block& block, const RowHead& head, const analyze::CollectiveCalls& calls,
                     const NumberedIterations& numbers, uint64_t clock_error_ns,
                     const std::function<uint64_t(int64_t)>& realtime_of) {
  std::vector<bool> is_member;
  for (const analyze::ProcessGroup& group : calls.groups) is_member.push_back(may_be_member(head.rank, group));
  for (const analyze::CollectiveCall& call : calls.rows) {
    const uint64_t iteration = numbers.number(call.iteration);
    const analyze::ProcessGroup& group = calls.groups[call.group];
    head.add_to(block);
    block.number(iteration);
    block.number(numbers.numbered(call.iteration));
    block.text(group.name);
    block.number(group.members);
    block.text(calls.names[call.name]);
    block.number(static_cast<uint64_t>(call.waiting));
    block.number(static_cast<uint64_t>(call.sequence));
    block.number(call.call);
    block.number(call.calls);
    block.number(same_call(head, iteration, calls, call, is_member[call.group]));
    block.number(realtime_of(call.begin));
    block.number(static_cast<uint64_t>(std::max<int64_t>(call.end - call.begin, 0)));
    block.number(clock_error_ns);
    block.end_row();
  }
}

}  // namespace kymo::push
