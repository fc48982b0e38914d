// The traces of a file: which processes belong together, and to which rank and job, by the environment that they had.
//
// One file may have several ranks: `kymo record -- torchrun …`, or a merge of the traces of ranks. Then each of them is
// a trace of its own in the tables. A rank may have several processes with iterations of their own: after a restart, of
// several runs, or beside each other. Each of these is a trace too, with its children.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::push {

// A rank of a job, and its processes, or those of one of its runs.
struct RankOfFile {
  int32_t rank = -1;                    // -1: unknown
  std::string job;                      // empty: the environment does not say
  std::string run;                      // of the job, if the rank has several traces; empty: the environment says
  std::set<trace::WriterId> processes;  // empty: those of the whole file
  std::set<trace::WriterId> helpers;    // processes of the trace that have no rank, while others have: the launcher
  uint64_t number = 0;                  // of its trace
};

struct RanksOfFile {
  std::vector<RankOfFile> list;
  std::string not_a_rank;  // what a program has in place of a rank: KYMO_RANK=x
  uint64_t left_out = 0;   // processes with events that belong to no trace
};

// A process without a rank belongs to that of its nearest ancestor. Otherwise it is a trace of an unknown rank if it
// has iterations, and else belongs to the only rank of its recording, or of the file if its recording has none. If the
// recording has several ranks, it belongs to none: it is the launcher, or beside the ranks. A recording without any
// rank in a file with several is an unknown rank.
//
// A rank is one process at a time. If several of them have iterations at the same time, the one that uses a device is
// the rank, or the one whose iterations take the most time. The others are traces of an unknown rank.
//
// `number` is the one of the content of the file. If it has one trace, that has this number, and each of several its
// own, which is the same each time. Reads the events of processes that may have iterations, if these are several. The
// reader shows all processes before and afterwards.
RanksOfFile find_ranks(trace::Reader& reader, uint64_t number);

// A number for the content of a file: the same content has the same number.
uint64_t trace_number(const std::string& path);

}  // namespace kymo::push
