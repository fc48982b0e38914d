// Which rank and job the processes of a trace belong to, by the environment that they had.
//
// One file may have several ranks: `kymo record -- torchrun …`, or a merge of the traces of ranks. Then each of them is
// a trace of its own in the tables.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::push {

// A rank of a job, and its processes.
struct RankOfFile {
  int32_t rank = -1;  // -1: unknown
  std::string job;    // empty: the environment does not say
  std::set<trace::WriterId> processes;
  uint64_t number = 0;  // of its trace
};

struct RanksOfFile {
  // More than one only if the file has processes of several ranks or of several jobs; otherwise it is the whole file,
  // whose processes are not listed.
  std::vector<RankOfFile> list;
  std::string not_a_rank;  // what a program has in place of a rank: KYMO_RANK=x

  bool has_several() const { return list.size() > 1; }
};

// A process without a rank belongs to that of its nearest ancestor, or to the only one of its recording. If the
// recording has several, it belongs to none: it is the launcher, or beside the ranks. A recording without any rank,
// which was merged with others, counts as an unknown rank.
//
// `number` is the one of the content of the file. The whole file has this number, and each of several ranks its own.
RanksOfFile find_ranks(const trace::Reader& reader, uint64_t number);

// "0, 1, 2, …", without the unknown one.
std::string text_of(const RanksOfFile& ranks);

// A name for the processes that were recorded together, or imported from one file.
std::string recording_of(const trace::Origin& origin);

// The job that the environment of the processes says, if all of them are one trace. Empty: it says none.
std::string find_job(const trace::Reader& reader);

}  // namespace kymo::push
