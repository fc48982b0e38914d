#include "inject/vulkan/span_writer.h"

#include <algorithm>
#include <utility>

#include "inject/plain_name.h"

namespace kymo::inject::vulkan {
namespace {

constexpr size_t kMaxOpen = 256;  // labels of a program that never ends them

// Readers do not count this category as work: it is around work.
constexpr const char* kAroundWork = "device range";
constinit Site timed_buffer(Label("command buffer", kAroundWork));
// One that was recorded while nothing recorded: what is in it is not known.
constinit Site unknown_buffer(Label("command buffer", "kernel"));

void write_label(QueueState& queue, const std::string& text, uint64_t start, uint64_t end, uint64_t correlation) {
  const std::string name = plain_name(text);
  queue.track.span(Label(name, kAroundWork), start, std::max(start, end), correlation);
}

class SpanWriter {
 public:
  SpanWriter(QueueState& queue, const Pending& pending) : queue_(queue), slot_(*pending.slot), pending_(pending) {}

  Written write() {
    Written written{0, time(0), time(1)};
    if (written.end < written.start) written.end = written.start;
    last_ = written.start;
    if (pending_.commands == nullptr) {
      queue_.track.span(unknown_buffer, written.start, written.end, pending_.correlation);
      spans_ = 1;
    } else {
      walk(*pending_.commands, TimesSlot::kOwnTimes);
      // Passes end in their command buffer. One that does not is a fault of the program.
      while (!passes_.empty()) end_pass(written.end);
      const auto commands = kymo::arg("commands", pending_.commands->command_count());
      if (pending_.text.empty()) {
        queue_.track.span(timed_buffer, written.start, written.end, pending_.correlation, commands);
      } else {
        const std::string name = "command buffer " + plain_name(pending_.text);
        queue_.track.span(Label(name, kAroundWork), written.start, written.end, pending_.correlation, commands);
      }
      ++spans_;
    }
    written.spans = spans_;
    return written;
  }

 private:
  struct OpenPass {
    const Step* step;
    uint64_t start;
  };

  // Masked: a driver may leave other bits in a counter of fewer.
  uint64_t time(uint32_t index) const {
    const uint64_t ticks = slot_.time(index);
    return queue_.timestamp_bits >= 64 ? ticks : ticks & ((uint64_t{1} << queue_.timestamp_bits) - 1);
  }
  uint64_t time_of(uint32_t query, uint32_t first) {
    if (query != Step::kNoQuery) last_ = time(first + query);
    return last_;
  }

  void work(const Step& step, uint64_t start, uint64_t end) {
    QueueTrack& track = queue_.track;
    const uint64_t correlation = pending_.correlation;
    const auto& sizes = step.sizes;
    switch (step.form) {
      case Form::Groups:
        track.span(*step.site, start, end, correlation, kymo::arg("groups_x", sizes[0]),
                   kymo::arg("groups_y", sizes[1]), kymo::arg("groups_z", sizes[2]));
        break;
      case Form::Draws:
        track.span(*step.site, start, end, correlation, kymo::arg("vertices", sizes[0]),
                   kymo::arg("instances", sizes[1]), kymo::arg("draws", sizes[2]));
        break;
      case Form::Bytes: {
        const double ns = static_cast<double>(end - start) * queue_.device->period_ns;
        track.span(*step.site, start, end, correlation, kymo::bytes("bytes", sizes[0]),
                   kymo::arg("GB_per_s", ns > 0 ? static_cast<double>(sizes[0]) / ns : 0.0));
        break;
      }
      case Form::Texels:
        track.span(*step.site, start, end, correlation, kymo::arg("texels", sizes[0]));
        break;
      case Form::Plain:
        track.span(*step.site, start, end, correlation);
    }
    ++spans_;
  }

  void end_pass(uint64_t end) {
    const OpenPass pass = passes_.back();
    passes_.pop_back();
    queue_.track.span(*pass.step->site, pass.start, std::max(end, pass.start), pending_.correlation);
    ++spans_;
  }

  void end_label(uint64_t end) {
    if (queue_.open.empty()) return;  // it began before the recording
    const QueueState::Open label = std::move(queue_.open.back());
    queue_.open.pop_back();
    write_label(queue_, label.text, label.start, end, pending_.correlation);
    ++spans_;
  }

  // `first`: where the times of these commands begin. Returns where those of the next ones do.
  uint32_t walk(const RecordedCommands& commands, uint32_t first) {
    uint32_t secondary = first + commands.query_count();
    for (const Step& step : commands.steps()) {
      switch (step.kind) {
        case Step::Kind::Work: {
          if (step.begin == Step::kNoQuery || step.end == Step::kNoQuery) break;
          const uint64_t start = time_of(step.begin, first);
          work(step, start, std::max(start, time_of(step.end, first)));
          break;
        }
        case Step::Kind::BeginPass:
          passes_.push_back({&step, time_of(step.begin, first)});
          break;
        case Step::Kind::EndPass:
          if (!passes_.empty()) end_pass(time_of(step.begin, first));
          break;
        case Step::Kind::BeginLabel:
          if (queue_.open.size() < kMaxOpen)
            queue_.open.push_back({commands.text(step), time_of(step.begin, first), true});
          break;
        case Step::Kind::EndLabel:
          end_label(time_of(step.begin, first));
          break;
        case Step::Kind::Mark: {
          const uint64_t at = time_of(step.begin, first);
          write_label(queue_, commands.text(step), at, at, pending_.correlation);
          ++spans_;
          break;
        }
        case Step::Kind::Execute:
          secondary = walk(commands.secondary(step), secondary);
          break;
      }
    }
    return secondary;
  }

  QueueState& queue_;
  const TimesSlot& slot_;
  const Pending& pending_;
  std::vector<OpenPass> passes_;
  uint64_t last_ = 0, spans_ = 0;
};

}  // namespace

Written write_commands(QueueState& queue, const Pending& pending) {
  const Written written = SpanWriter(queue, pending).write();
  for (QueueState::Open& label : queue.labels)
    if (!std::exchange(label.has_start, true)) label.start = written.start;
  queue.last_end = written.end;
  queue.has_last_end = true;
  return written;
}

void begin_queue_label(QueueState& queue, const std::string& text) {
  if (queue.labels.size() < kMaxOpen) queue.labels.push_back({text, 0, false});
}

bool end_queue_label(QueueState& queue) {
  if (queue.labels.empty()) return false;
  const QueueState::Open label = std::move(queue.labels.back());
  queue.labels.pop_back();
  if (!label.has_start) return false;  // nothing ran in it
  write_label(queue, label.text, label.start, queue.last_end, 0);
  return true;
}

}  // namespace kymo::inject::vulkan
