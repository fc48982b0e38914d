#include "analyze/report/findings.h"

#include <algorithm>

#include "base/iteration_name.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMost = 3, kRows = 3, kWidestName = 100;
constexpr double kSmallestShare = 0.01;

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "0 %" : base::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string ms(uint64_t ns) { return base::format("{:.3f} ms", static_cast<double>(ns) / 1e6); }

// The argument of a command that takes a pattern. The rows of iterations stand for several names. A name that is too
// long for a command line is its two ends.
std::string pattern(const std::string& name) {
  if (base::display_width(name) > kWidestName) return base::shell_quoted(base::shorten_middle(name, kWidestName, "*"));
  if (name.ends_with("{}") && base::names_iteration(name))
    return base::shell_quoted(name.substr(0, name.size() - 2) + "*");
  return base::shell_quoted(name);
}

std::string times(uint64_t count) { return count == 1 ? "once" : base::format("{} times", count); }

class Search {
 public:
  explicit Search(const Report& report) : report_(report) {}

  std::vector<Finding> find() {
    if (!report_.devices.empty()) {
      const DeviceReport& device = report_.devices.front();
      late_launches(device);
      exposed(device, device.time.exposed_copies_ns, WorkKind::Copy,
              "Copies run while the device computes nothing. Overlap them with kernels, or avoid them");
      exposed(device, device.time.exposed_communication_ns, WorkKind::Communication,
              "Communication runs while the device computes nothing. Overlap it with computation");
      latency(device);
      largest_kernel(device);
    } else {
      largest_name();
      outside();
    }
    uneven_iterations();
    std::erase_if(found_, [&](const Finding& one) {
      return one.saves_ns == 0 ||
             static_cast<double>(one.saves_ns) < kSmallestShare * static_cast<double>(report_.window_ns);
    });
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Finding& a, const Finding& b) { return a.saves_ns > b.saves_ns; });
    if (found_.size() > kMost) found_.resize(kMost);
    return std::move(found_);
  }

 private:
  void late_launches(const DeviceReport& device) {
    Finding one;
    one.saves_ns = device.time.idle_ns[static_cast<size_t>(IdleCause::LateLaunch)];
    one.text = base::format("{} waits for the host to launch work: {} of the time", device.name,
                            percent(one.saves_ns, report_.window_ns));
    for (size_t i = 0; i < std::min(kRows, device.during_late.size()); ++i) {
      const HostRow& row = device.during_late[i];
      one.evidence.push_back(base::format("meanwhile {} in {} ({})", ms(row.self_ns), row.name, times(row.count)));
    }
    if (device.during_late_outside_ns > 0)
      one.evidence.push_back(base::format("meanwhile {} outside of any range", ms(device.during_late_outside_ns)));
    one.command =
        device.during_late.empty() ? "kymo timeline FILE" : "kymo hist FILE " + pattern(device.during_late[0].name);
    found_.push_back(std::move(one));
  }

  void exposed(const DeviceReport& device, uint64_t ns, WorkKind kind, std::string_view advice) {
    Finding one;
    one.saves_ns = ns;
    one.text = base::format("{}: {} of the time", advice, percent(ns, report_.window_ns));
    rows(device, kind, one);
    found_.push_back(std::move(one));
  }

  void latency(const DeviceReport& device) {
    Finding one;
    one.saves_ns = device.time.idle_ns[static_cast<size_t>(IdleCause::LaunchLatency)];
    const uint64_t count = device.time.operations;
    if (count == 0) return;
    one.text = base::format(
        "Many short operations: {} is lost between their launches and their starts. Fuse them, or "
        "launch them as a graph",
        percent(one.saves_ns, report_.window_ns));
    one.evidence.push_back(
        base::format("{} operations, {} of launch latency each on average", count, ms(one.saves_ns / count)));
    one.command = "kymo stats FILE --sort count";
    found_.push_back(std::move(one));
  }

  // A kernel that takes a large share could at most disappear.
  void largest_kernel(const DeviceReport& device) {
    const auto largest = std::find_if(device.operations.begin(), device.operations.end(),
                                      [](const OperationRow& row) { return row.kind == WorkKind::Compute; });
    if (largest == device.operations.end()) return;
    Finding one;
    one.saves_ns = std::min(largest->total_ns / 2, device.time.compute_ns);
    one.text = base::format(
        "The kernel that takes the most time has {} of the time. Twice as fast, it would save half "
        "of that",
        percent(largest->total_ns, report_.window_ns));
    rows(device, WorkKind::Compute, one);
    one.command = "kymo hist FILE " + pattern(largest->name);
    found_.push_back(std::move(one));
  }

  void largest_name() {
    if (report_.host.rows.empty()) return;
    Finding one;
    const HostRow& largest = report_.host.rows.front();
    one.saves_ns = largest.self_ns / 2;
    one.text = base::format("\"{}\" takes {} of the time itself. Twice as fast, it would save half of that",
                            largest.name, percent(largest.self_ns, report_.window_ns));
    for (size_t i = 0; i < std::min(kRows, report_.host.rows.size()); ++i) {
      const HostRow& row = report_.host.rows[i];
      one.evidence.push_back(base::format("{} of self time in {} ({}, longest {})", ms(row.self_ns), row.name,
                                          times(row.count), ms(row.longest_ns)));
    }
    one.command = "kymo hist FILE " + pattern(largest.name);
    found_.push_back(std::move(one));
  }

  void outside() {
    Finding one;
    one.saves_ns = report_.host.outside_ns / 2;
    one.text = base::format(
        "{} of the time of {} is outside of any range: {}", percent(report_.host.outside_ns, report_.window_ns),
        report_.main_thread,
        report_.has_samples ? "its samples show which functions ran" : "annotate more of the program to see it");
    one.evidence.push_back(
        base::format("{} of {} are not inside a range", ms(report_.host.outside_ns), ms(report_.window_ns)));
    one.command = report_.has_samples ? "kymo stats FILE --by function" : "kymo timeline FILE";
    found_.push_back(std::move(one));
  }

  void uneven_iterations() {
    if (report_.iterations.list.size() < 3) return;
    const uint64_t even = report_.median_ns * report_.iterations.list.size();
    Finding one;
    one.saves_ns = report_.window_ns > even ? report_.window_ns - even : 0;
    one.text =
        base::format("Some iterations take longer than most: with the median time in all of them, {} would be saved",
                     percent(one.saves_ns, report_.window_ns));
    const Interval& slowest = report_.iterations.list[report_.longest_iteration];
    one.evidence.push_back(base::format(
        "median {}, longest {}: number {}, {} after the first event", ms(report_.median_ns), ms(report_.longest_ns),
        report_.longest_iteration, ms(static_cast<uint64_t>(std::max<int64_t>(slowest.begin - report_.first_ns, 0)))));
    one.command = base::format("kymo timeline FILE --from {}us --to {}us",
                               std::max<int64_t>(slowest.begin - report_.first_ns, 0) / 1000,
                               std::max<int64_t>(slowest.end - report_.first_ns, 0) / 1000);
    found_.push_back(std::move(one));
  }

  void rows(const DeviceReport& device, WorkKind kind, Finding& to) {
    size_t left = kRows;
    for (const OperationRow& row : device.operations) {
      if (row.kind != kind || left == 0) continue;
      --left;
      to.evidence.push_back(
          base::format("{} in {} ({}, longest {})", ms(row.total_ns), row.name, times(row.count), ms(row.longest_ns)));
    }
    to.command = "kymo stats FILE --by thread";
  }

  const Report& report_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> find_findings(const Report& report) { return Search(report).find(); }

}  // namespace kymo::analyze
