#include "edge/build.h"

#include <unistd.h>

#include "base/text.h"
#include "edge/adjust.h"
#include "edge/result_builder.h"
#include "edge/tree.h"

namespace kymo::edge {

ResultBuilder::ResultBuilder(const LogContents& log, const Module& module, const BuildOptions& options)
    : log_(log),
      module_(module),
      options_(options),
      clock_(log),
      event_count_(std::min(log.options == nullptr ? 0 : log.options->events.size(), counters::kMaxEvents)) {}

std::shared_ptr<const ResultData> ResultBuilder::build() {
  data_->pid = static_cast<uint64_t>(getpid());
  data_->start_ns = clock_.of_ticks(log_.begin.ticks);
  data_->end_ns = std::max(data_->start_ns, clock_.of_ticks(log_.end.ticks));
  data_->losses = options_.losses;
  if (log_.options != nullptr) {
    data_->inputs_wanted = log_.options->wanted.inputs && options_.inputs;
    data_->memory_wanted = log_.options->wanted.memory;
    for (size_t at = 0; at < event_count_; ++at) data_->event_names.push_back(log_.options->events[at].name);
  }
  data_->stack_wanted = options_.stack;
  data_->flops_wanted = options_.flops;
  data_->modules_wanted = options_.modules;

  size_t count = 0;
  for (const ThreadLog* const log : log_.threads)
    count += size_t{log->operations.size()} + log->backend_events.size() + log->device_operations.size();
  data_->events.reserve(count);
  for (const ThreadLog* const log : log_.threads) add_thread(*log);
  add_device_events();
  add_memory();
  share_with_parents();
  subtract_overhead();
  if (options_.flops) add_flops();
  ask_module();
  name_stacks();
  link_tree(data_->events);
  if (options_.adjust_vulkan) adjust_vulkan_timestamps(*data_);
  if (!options_.inputs) {
    for (EdgeEvent& event : data_->events) event.inputs_at = event.inputs_size = 0;
    data_->inputs = {};
  }
  report_losses();
  return std::move(data_);
}

void ResultBuilder::report_losses() {
  const auto add_loss = [&](uint64_t count, std::string_view one, std::string_view many) {
    if (count != 0) data_->losses.push_back(base::format("{} {}", count, count == 1 ? one : many));
  };
  uint64_t not_kept = 0;
  for (const ThreadLog* const log : log_.threads) {
    not_kept += log->not_kept;
    if (log->no_counters.empty()) continue;
    data_->losses.push_back(
        base::format("performance events were not counted on thread {}: {}", log->thread, log->no_counters));
  }
  add_loss(not_kept, "record was dropped: out of memory, or the log was full",
           "records were dropped: out of memory, or the log was full");
  add_loss(reversed_operations_, "operation ended before it began", "operations ended before they began");
  add_loss(early_backend_events_, "backend event began before 1970", "backend events began before 1970");
  add_loss(reversed_backend_events_, "backend event ended before it began", "backend events ended before they began");
  add_loss(reversed_device_operations_, "device operation ended before it began",
           "device operations ended before they began");
  add_loss(inputs_without_room_, "operation's inputs were dropped: the log was full",
           "operations' inputs were dropped: the log was full");
  add_loss(counts_without_room_, "operation's counts were dropped: the log was full",
           "operations' counts were dropped: the log was full");
  if (clock_.set_by_ns() != 0)
    data_->losses.push_back(
        base::format("the system clock was set by {:+.6f} s during the recording: times continue as if it had not been "
                     "set, and events that backends timed with it are wrong by that amount",
                     static_cast<double>(clock_.set_by_ns()) * 1e-9));
}

std::shared_ptr<const ResultData> build_result(const LogContents& log, const Module& module,
                                               const BuildOptions& options) {
  return ResultBuilder(log, module, options).build();
}

}  // namespace kymo::edge
