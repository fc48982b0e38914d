// Flame graphs: the paths of a trace (paths.h) as a file for people or for other tools.
//
//   .folded             one line for each path with its self time in nanoseconds, as flamegraph.pl and others read it;
//                       of compared paths the time before, and the time after
//   .svg                a picture for a web browser, which needs no other file and works without its script
//   .speedscope.json    for speedscope.app: a profile for each thread and queue
//
// Names are untrusted: every output is valid for any name.
#pragma once

#include <cstdint>
#include <string>

#include "analyze/views/paths.h"
#include "convert/export_stream.h"

namespace kymo::views {

enum class FlameFormat : uint8_t { Folded, Svg, Speedscope };

// Throws kymo::InvalidArgument if the extension of the file selects no format.
FlameFormat flame_format_of(const std::string& path);

// `title` is the name of the trace. Uses memory for the frames that are open, and a small buffer. In a picture, frames
// narrower than a tenth of a pixel are not drawn; a note says how many. Compared paths have the widths of the trace
// after; a frame is red if its self time is longer than before, and blue if it is shorter.
// Throws kymo::InvalidArgument for compared paths in the format of speedscope, which has no place for them.
void write_flame(const Paths& paths, FlameFormat format, const std::string& title, convert::ExportStream& out);

// A `;` or a line break in a name is escaped: \x3b, \n. Paths without self time have no line.
void write_folded(const Paths& paths, convert::ExportStream& out);

}  // namespace kymo::views
