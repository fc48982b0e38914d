// The flame graph for speedscope: a sampled profile for each track, with a sample for each path.
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/views/flame.h"
#include "base/json_text.h"
#include "base/text.h"
#include "base/version.h"

namespace kymo::views {
namespace {

constexpr uint32_t kTrackDepth = 2;  // of PathFrame: below the root and the process

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Paths& paths, convert::ExportStream& out) : frames_(paths.frames), out_(out) {}

  void write(const std::string& title);

 private:
  void write_names();
  void write_profile(std::string_view process, size_t track);
  // Calls visit(stack of name numbers, self time) for each path of the track with self time.
  template <typename Visit>
  void for_each_sample(size_t track, Visit&& visit) const;
  void flush_large() {
    if (text_.size() >= convert::kFlushAt) flush();
  }
  void flush() {
    out_.write(text_.view());
    text_.clear();
  }

  const std::vector<PathFrame>& frames_;
  convert::ExportStream& out_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // of names
  base::TextBuffer text_;
};

void SpeedscopeWriter::write(const std::string& title) {
  text_.append(R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":)",
               base::json_quoted(base::format("kymo@{}", base::kVersion)), R"(,"name":)", base::json_quoted(title),
               R"(,"shared":{"frames":)");
  write_names();
  text_.append(R"(},"profiles":)");
  base::JsonArray profiles(text_);
  std::string_view process;
  for (size_t i = 0; i < frames_.size(); ++i) {
    if (frames_[i].depth + 1 == kTrackDepth) process = frames_[i].name;
    if (frames_[i].depth != kTrackDepth) continue;
    profiles.next();
    write_profile(process, i);
  }
  profiles.close();
  text_.append("}\n");
  flush();
}

void SpeedscopeWriter::write_names() {
  base::JsonArray names(text_);
  for (const PathFrame& frame : frames_) {
    if (frame.depth <= kTrackDepth) continue;
    if (!numbers_.try_emplace(frame.name, static_cast<uint32_t>(numbers_.size())).second) continue;
    names.next().append(R"({"name":)", base::json_quoted(frame.name), "}");
    flush_large();
  }
  names.close();
}

void SpeedscopeWriter::write_profile(std::string_view process, size_t track) {
  const std::string name = base::format("{}, {}", process, frames_[track].name);
  text_.append(R"({"type":"sampled","name":)", base::json_quoted(name),
               R"(,"unit":"nanoseconds","startValue":0,"endValue":)");
  text_.append_number(frames_[track].total_ns);
  text_.append(R"(,"samples":)");
  base::JsonArray samples(text_);
  for_each_sample(track, [&](const std::vector<uint32_t>& stack, uint64_t) {
    samples.next().push_back('[');
    for (size_t level = 0; level < stack.size(); ++level) {
      if (level != 0) text_.push_back(',');
      text_.append_number(stack[level]);
    }
    text_.push_back(']');
    flush_large();
  });
  samples.close();
  text_.append(R"(,"weights":)");
  base::JsonArray weights(text_);
  for_each_sample(track, [&](const std::vector<uint32_t>&, uint64_t self_ns) {
    weights.next().append_number(self_ns);
    flush_large();
  });
  weights.close();
  text_.push_back('}');
}

template <typename Visit>
void SpeedscopeWriter::for_each_sample(size_t track, Visit&& visit) const {
  std::vector<uint32_t> stack;
  for (size_t i = track + 1; i < frames_.size() && frames_[i].depth > kTrackDepth; ++i) {
    stack.resize(frames_[i].depth - kTrackDepth - 1);
    stack.push_back(numbers_.at(frames_[i].name));
    if (frames_[i].self_ns != 0) visit(stack, frames_[i].self_ns);
  }
}

}  // namespace

void write_speedscope(const Paths& paths, const std::string& title, convert::ExportStream& out) {
  SpeedscopeWriter(paths, out).write(title);
}

}  // namespace kymo::views
