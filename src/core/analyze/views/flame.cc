#include "analyze/views/flame.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/views/embedded.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "kymo/error.h"
#include "symbols/short_name.h"

namespace kymo::views {
namespace {

// A semicolon separates the frames of a line.
std::string folded_name(std::string_view name) {
  std::string text = base::printable(name);
  for (size_t at = 0; (at = text.find(';', at)) != text.npos;) text.replace(at, 1, "\\x3b");
  return text;
}

// The flame graph as a picture: the root is at the top, and each range is below the range around it.

constexpr double kWidth = 1200, kMargin = 10, kNarrowest = 0.1;
constexpr int kRow = 18, kTop = 52, kBottom = 30;
constexpr double kCharacter = 6.7;  // of the monospaced font with 11 pixels
constexpr size_t kShortestLabel = 3;

// XML has no way to write control characters, U+FFFE and U+FFFF. The text may also be in an attribute.
std::string xml_text(std::string_view untrusted) {
  using namespace std::string_view_literals;
  const std::string printable = base::printable(untrusted);
  std::string text;
  for (std::string_view rest = printable; !rest.empty();) {
    const std::string_view character = rest.substr(0, std::max<size_t>(1, base::utf8_length(rest)));
    rest.remove_prefix(character.size());
    if (character == "&"sv)
      text += "&amp;";
    else if (character == "<"sv)
      text += "&lt;";
    else if (character == ">"sv)
      text += "&gt;";
    else if (character == "\""sv)
      text += "&quot;";
    else if (character == "'"sv)
      text += "&#39;";
    else if (character == "\xEF\xBF\xBE"sv || character == "\xEF\xBF\xBF"sv)
      text += base::kReplacementCharacter;
    else
      text += character;
  }
  return text;
}

// The same name always has the same colour. Work of devices is blue and green, ranges of threads are red and yellow.
std::string colour_of(const PathFrame& frame) {
  const uint64_t hash = base::hash(base::as_bytes(frame.name));
  const auto between = [hash](unsigned shift, unsigned lowest, unsigned highest) {
    return lowest + static_cast<unsigned>(hash >> shift & 0xFF) * (highest - lowest) / 0xFF;
  };
  std::array<unsigned, 3> rgb{};
  switch (frame.kind) {
    case FrameKind::All:
    case FrameKind::Process:
      rgb = {200, 200, 205};
      break;
    case FrameKind::Track:
      rgb = {222, 222, 226};
      break;
    case FrameKind::Unfinished:
      rgb = {170, 170, 175};
      break;
    case FrameKind::Range:
    case FrameKind::Function:
      rgb = {between(0, 225, 250), between(8, 120, 215), between(16, 60, 110)};
      break;
    case FrameKind::Work:
      rgb = {between(0, 90, 150), between(8, 170, 225), between(16, 180, 240)};
      break;
  }
  return base::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

std::string change_text(uint64_t before, uint64_t after) {
  return base::format("before {}, {}{}", base::duration_text(before), after < before ? '-' : '+',
                      base::duration_text(after < before ? before - after : after - before));
}

// The frame whose self time changed most has the full colour.
std::string colour_of_change(const PathFrame& frame, uint64_t largest_ns) {
  const bool is_more = frame.self_ns > frame.before_self_ns;
  const uint64_t change = is_more ? frame.self_ns - frame.before_self_ns : frame.before_self_ns - frame.self_ns;
  if (change == 0) return "#e6e6ea";
  const double share = static_cast<double>(change) / static_cast<double>(largest_ns);
  const auto others = static_cast<unsigned>(225 - 165 * share);
  return is_more ? base::format("#f0{0:02x}{0:02x}", others) : base::format("#{0:02x}{0:02x}f0", others);
}

std::string details_of(const PathFrame& frame, const Paths& paths) {
  const uint64_t all = paths.frames.front().total_ns;
  const double percent = all == 0 ? 0 : 100 * static_cast<double>(frame.total_ns) / static_cast<double>(all);
  std::string text = base::format("{}: {} ({:.2f} %)", frame.name, base::duration_text(frame.total_ns), percent);
  if (paths.is_compared)
    return text + base::format(", {}; self {}, {}", change_text(frame.before_total_ns, frame.total_ns),
                               base::duration_text(frame.self_ns), change_text(frame.before_self_ns, frame.self_ns));
  if (frame.count != 0)
    text += base::format(", self {}, {}", base::duration_text(frame.self_ns),
                         base::count_of(frame.count, frame.kind == FrameKind::Function ? "sample" : "range"));
  return text;
}

class SvgWriter {
 public:
  SvgWriter(const Paths& paths, const std::string& title, convert::ExportStream& out)
      : paths_(paths), title_(title), out_(out), all_ns_(paths.frames.front().total_ns) {}

  void write();

 private:
  struct Drawn {
    const PathFrame* frame;
    double x, width;
  };
  void place_frames();
  void write_frame(const Drawn& drawn);

  const Paths& paths_;
  const std::string& title_;
  convert::ExportStream& out_;
  const uint64_t all_ns_;
  uint64_t largest_change_ns_ = 0;  // of a self time
  std::vector<Drawn> drawn_;
  uint32_t deepest_ = 0;
  uint64_t too_narrow_ = 0;
  base::TextBuffer text_;
};

// A frame begins where its parent begins, or where the frame before it ends.
void SvgWriter::place_frames() {
  const double scale = all_ns_ == 0 ? 0 : (kWidth - 2 * kMargin) / static_cast<double>(all_ns_);
  std::vector<uint64_t> next;  // by depth: where the next frame begins
  for (const PathFrame& frame : paths_.frames) {
    const auto [less, more] = std::minmax(frame.self_ns, frame.before_self_ns);
    largest_change_ns_ = std::max(largest_change_ns_, more - less);
    const uint64_t begin = frame.depth < next.size() ? next[frame.depth] : 0;
    next.resize(frame.depth + size_t{1});
    next[frame.depth] = begin + frame.total_ns;
    next.push_back(begin);
    const double width = static_cast<double>(frame.total_ns) * scale;
    if (width < kNarrowest && frame.depth != 0) {
      ++too_narrow_;
      continue;
    }
    drawn_.push_back({&frame, kMargin + static_cast<double>(begin) * scale, width});
    deepest_ = std::max(deepest_, frame.depth);
  }
}

void SvgWriter::write() {
  place_frames();
  const int height = kTop + static_cast<int>(deepest_ + 1) * kRow + kBottom;
  text_.append(
      base::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
                   "width=\"{0:.0f}\" height=\"{1}\" viewBox=\"0 0 {0:.0f} {1}\">\n<title>{2}</title>\n",
                   kWidth, height, xml_text(title_)));
  text_.append("<style>\n", embedded::flame_css, "</style>\n");
  text_.append(
      base::format("<text class=\"head\" x=\"{:.0f}\" y=\"20\">{}: {} {}</text>\n", kMargin,
                   xml_text(base::shorten(title_, 100)), base::duration_text(all_ns_),
                   paths_.is_compared ? change_text(paths_.frames.front().before_total_ns, all_ns_) : paths_.of));
  text_.append(base::format("<text id=\"info\" x=\"{:.0f}\" y=\"40\"> </text>\n", kMargin));
  text_.append(
      base::format("<g id=\"frames\" data-left=\"{:.0f}\" data-width=\"{:.0f}\">\n", kMargin, kWidth - 2 * kMargin));
  for (const Drawn& drawn : drawn_) write_frame(drawn);
  text_.append("</g>\n");
  if (too_narrow_ != 0)
    text_.append(base::format("<text x=\"{:.0f}\" y=\"{}\">{} too narrow to be drawn</text>\n", kMargin, height - 10,
                              base::count_of(too_narrow_, "frame is", "frames are")));
  text_.append("<script><![CDATA[\n", embedded::flame_js, "]]></script>\n</svg>\n");
  out_.write(text_.view());
}

void SvgWriter::write_frame(const Drawn& drawn) {
  const PathFrame& frame = *drawn.frame;
  const int y = kTop + static_cast<int>(frame.depth) * kRow;
  const std::string name = base::printable(frame.name);
  text_.append(
      base::format("<g><title>{}</title><rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>",
                   xml_text(details_of(frame, paths_)), drawn.x, y, drawn.width, kRow - 1,
                   paths_.is_compared ? colour_of_change(frame, largest_change_ns_) : colour_of(frame)));
  const auto room = static_cast<size_t>(std::max(0.0, (drawn.width - 4) / kCharacter));
  const bool is_function = frame.kind == FrameKind::Function || frame.kind == FrameKind::Work;
  const std::string fitting = is_function ? symbols::short_name(name, room) : name;
  const std::string label = room >= kShortestLabel ? base::shorten(fitting, room) : "";
  text_.append(base::format("<text x=\"{:.2f}\" y=\"{}\">{}</text></g>\n", drawn.x + 3, y + 12, xml_text(label)));
  if (text_.size() < convert::kFlushAt) return;
  out_.write(text_.view());
  text_.clear();
}

// The flame graph for speedscope: a sampled profile for each track, with a sample for each path.

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
               base::json_string(base::format("kymo@{}", base::kVersion)), R"(,"name":)", base::json_string(title),
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
    names.next().append(R"({"name":)", base::json_string(frame.name), "}");
    flush_large();
  }
  names.close();
}

void SpeedscopeWriter::write_profile(std::string_view process, size_t track) {
  const std::string name = base::format("{}, {}", process, frames_[track].name);
  text_.append(R"({"type":"sampled","name":)", base::json_string(name),
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

FlameFormat flame_format_of(const std::string& path) {
  if (path.ends_with(".folded")) return FlameFormat::Folded;
  if (path.ends_with(".svg")) return FlameFormat::Svg;
  if (path.ends_with(".speedscope.json")) return FlameFormat::Speedscope;
  throw InvalidArgument(
      base::format("cannot tell the format of '{}' from its name: let it end in .svg (a picture), .folded (text) or "
                   ".speedscope.json (speedscope.app)",
                   path));
}

void write_folded(const Paths& paths, convert::ExportStream& out) {
  base::TextBuffer text;
  std::string line;
  std::vector<size_t> ends = {0};  // by depth: where the frame ends in the line
  for (const PathFrame& frame : paths.frames) {
    if (frame.depth == 0) continue;
    ends.resize(frame.depth);
    line.resize(ends.back());
    if (frame.depth > 1) line += ';';
    line += folded_name(frame.name);
    ends.push_back(line.size());
    if (frame.self_ns == 0 && frame.before_self_ns == 0) continue;
    text.append(line, " ");
    if (paths.is_compared) text.append(std::to_string(frame.before_self_ns), " ");
    text.append_number(frame.self_ns);
    text.push_back('\n');
    if (text.size() < convert::kFlushAt) continue;
    out.write(text.view());
    text.clear();
  }
  out.write(text.view());
}

void write_flame(const Paths& paths, FlameFormat format, const std::string& title, convert::ExportStream& out) {
  switch (format) {
    case FlameFormat::Folded:
      return write_folded(paths, out);
    case FlameFormat::Svg:
      return SvgWriter(paths, title, out).write();
    case FlameFormat::Speedscope:
      if (paths.is_compared) throw InvalidArgument("a comparison is written as .svg or .folded, not for speedscope");
      return SpeedscopeWriter(paths, out).write(title);
  }
}

}  // namespace kymo::views
