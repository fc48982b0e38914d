#include "analyze/views/flame.h"

#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "base/text_buffer.h"
#include "kymo/error.h"

namespace kymo::views {
namespace {

// A semicolon separates the frames of a line.
std::string folded_name(std::string_view name) {
  std::string text = base::printable(name);
  for (size_t at = 0; (at = text.find(';', at)) != text.npos;) text.replace(at, 1, "\\x3b");
  return text;
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

void write_flame(const Paths& paths, FlameFormat format, const std::string& title, convert::ExportStream& out) {
  switch (format) {
    case FlameFormat::Folded:
      return write_folded(paths, out);
    case FlameFormat::Svg:
      return write_flame_svg(paths, title, out);
    case FlameFormat::Speedscope:
      return write_speedscope(paths, title, out);
  }
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
    if (frame.self_ns == 0) continue;
    text.append(line, " ");
    text.append_number(frame.self_ns);
    text.push_back('\n');
    if (text.size() < convert::kFlushAt) continue;
    out.write(text.view());
    text.clear();
  }
  out.write(text.view());
}

}  // namespace kymo::views
