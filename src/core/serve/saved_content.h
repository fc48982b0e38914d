// What a saved page has besides the events of its tracks. Each function adds columns, whose names and meaning are
// described here; the scripts saved_*.js read them. All need the lock of the view, and read all chunks of all files.
// Everything is bounded by kMaxSavedEvents, because each row belongs to an event.
#pragma once

#include <string>
#include <vector>

#include "serve/saved_columns.h"
#include "serve/tiles.h"
#include "serve/view.h"

namespace kymo::serve {

// Launches with the work on devices that they caused.
//   launch.number   the same for a launch and its work; ascending, launches before work
//   launch.track    id
//   launch.item     position in the tile of the track
// Flows, by number and time:
//   flow.number, flow.track, flow.time
void save_links(View& view, const std::vector<Tile>& tiles, SavedColumns& columns);

// The stacks of CPU samples as a tree.
//   stack.caller, stack.frame   of each node; node 0 is no stack. A frame is a position in the JSON that is returned.
//   functions.TRACK             of each item in the tile of a track of functions: the node of its first sample
//   samples.TRACK               of each instant in the tile of a thread: its node, or 0
// The JSON is [["function", "file", line, "module"], …].
std::string save_stacks(View& view, const std::vector<Tile>& tiles, SavedColumns& columns);

// Blocks of memory of each file F.
//   blocks.F.taken, blocks.F.freed   times of the file; infinity: never freed
//   blocks.F.bytes
//   blocks.F.memory, blocks.F.range, blocks.F.stack   positions in the JSON that is returned
// The JSON is, by file, null or {"sampled": false, "memories": ["cuda:0"], "ranges": ["forward"],
// "stacks": [["resize", "tensor.cc:12"], …]}.
std::string save_blocks(View& view, SavedColumns& columns);

// The arguments of events, at most 16 MiB of text.
//   arguments.TRACK           of each item in the tile: a position in "rows"; a track without arguments has none
//   instant_arguments.TRACK   of each instant
// The JSON is {"rows": [[], ["name", "value", "name", "value"], …], "left_out": 0}: how many events did not fit.
std::string save_arguments(View& view, const std::vector<Tile>& tiles, SavedColumns& columns);

// Of each item in the tile of a track with ranges across threads: the threads where it begins and ends.
//   across.TRACK.begins, across.TRACK.ends   ids of tracks
void save_ends(View& view, const std::vector<Tile>& tiles, SavedColumns& columns);

}  // namespace kymo::serve
