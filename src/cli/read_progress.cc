#include "cli/read_progress.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"

namespace kymo::cli {
namespace {

constexpr uint64_t kQuietNs = 500'000'000;    // shorter work shows no bar
constexpr uint64_t kBetweenNs = 100'000'000;  // two updates
constexpr uint64_t kPartOfAPass = 8;          // further back than this part of the file: another pass
constexpr size_t kProgressWidth = 20;

}  // namespace

std::string bar_text(double fraction, size_t width) {
  const auto full = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width));
  std::string text;
  for (size_t i = 0; i < width; ++i) text += i < full ? "█" : "░";
  return text;
}

std::optional<double> ProgressMeter::reached(uint64_t position, uint64_t now_ns) {
  if (position > furthest_ || furthest_ - position > size_ / kPartOfAPass) furthest_ = position;
  if (now_ns < start_ns_ + kQuietNs || now_ns < shown_ns_ + kBetweenNs || size_ == 0) return std::nullopt;
  shown_ns_ = now_ns;
  return std::min(1.0, static_cast<double>(furthest_) / static_cast<double>(size_));
}

ReadProgress::ReadProgress(const trace::Reader& reader, std::string what)
    : reader_(reader), what_(std::move(what)), line_(true), meter_(reader.trace_size(), base::monotonic_ns()) {
  if (line_.shown()) reader.on_read([this](const trace::EventChunk& chunk) { reached(chunk.offset + chunk.length); });
}

ReadProgress::~ReadProgress() {
  if (line_.shown()) reader_.on_read({});
}

// A thread does not wait for another one that is showing the bar.
void ReadProgress::reached(uint64_t position) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const std::optional<double> fraction = meter_.reached(position, base::monotonic_ns());
  if (fraction)
    line_.show(
        base::format("{} {:3.0f} %  {}", bar_text(*fraction, kProgressWidth), 100 * *fraction, base::printable(what_)));
}

}  // namespace kymo::cli
