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
constexpr size_t kProgressWidth = 20;

}  // namespace

std::string bar_text(double fraction, size_t width) {
  const auto full = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width));
  std::string text;
  for (size_t i = 0; i < width; ++i) text += i < full ? "█" : "░";
  return text;
}

std::optional<double> ProgressMeter::reached(uint64_t bytes, uint64_t now_ns) {
  if (now_ns < start_ns_ + kQuietNs || now_ns < shown_ns_ + kBetweenNs || size_ == 0) return std::nullopt;
  shown_ns_ = now_ns;
  const uint64_t of_this_pass = bytes == 0 ? 0 : (bytes - 1) % size_ + 1;
  return static_cast<double>(of_this_pass) / static_cast<double>(size_);
}

ProgressBar::ProgressBar(uint64_t size, std::string what)
    : what_(std::move(what)), line_(true), meter_(size, base::monotonic_ns()) {}

// A thread does not wait for another one that is showing the bar.
void ProgressBar::add(uint64_t bytes) {
  const uint64_t all = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const std::optional<double> fraction = meter_.reached(all, base::monotonic_ns());
  if (fraction)
    line_.show(
        base::format("{} {:3.0f} %  {}", bar_text(*fraction, kProgressWidth), 100 * *fraction, base::printable(what_)));
}

namespace {

// Only chunks of events are read again and again, so only they count.
uint64_t event_bytes(std::span<const trace::Reader> readers) {
  uint64_t bytes = 0;
  for (const trace::Reader& reader : readers)
    for (const trace::EventChunk& chunk : reader.event_chunks()) bytes += chunk.length;
  return bytes;
}

}  // namespace

ReadProgress::ReadProgress(std::span<const trace::Reader> readers, std::string what)
    : readers_(readers), bar_(event_bytes(readers), std::move(what)) {
  if (!bar_.shown()) return;
  for (const trace::Reader& reader : readers_)
    reader.on_read([this](const trace::EventChunk& chunk) { bar_.add(chunk.length); });
}

ReadProgress::~ReadProgress() {
  if (!bar_.shown()) return;
  for (const trace::Reader& reader : readers_) reader.on_read({});
}

}  // namespace kymo::cli
