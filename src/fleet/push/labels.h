// The job and rank that the traces of a file get: what is given, or what the store has for them, or what the
// environment of the recorded program says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "push/batch.h"
#include "push/pusher.h"
#include "push/ranks.h"
#include "push/store.h"
#include "push/trace_rows.h"
#include "trace/reader.h"

namespace kymo::push {

// Without the name of the program, which is the job if nothing else says one.
TraceLabels labels_of(const TraceFile& file, const RankOfFile& rank, const std::map<uint64_t, KnownTrace>& there,
                      const PushOptions& options);

// Gives all traces of one rank the same job, and several ranks the one that was given to the trace in which an older
// Kymo stored all of them. The reader shows all processes.
void choose_jobs(const TraceFile& file, const std::map<uint64_t, KnownTrace>& there, const PushOptions& options,
                 const trace::Reader& reader, std::span<TraceToPush> traces);

// Two pushes that give the same traces different labels at the same time.
//
// They write the traces in turns, and would leave some of each. So each of them looks after its last trace for traces
// with labels of the other one, and pushes them again: the last one to look leaves all of them as its own. They wait
// for random times, so that they do not look at the same time again and again.
//
// `find` returns the files whose traces have other labels now; they are given to `push_again` after `wait`, until there
// are none. Throws kymo::Error after kMostConflicts of them, and what these functions throw.
using Files = std::vector<std::string>;
inline constexpr int kMostConflicts = 10;
void settle_labels(const std::function<Files()>& find, const std::function<void(const Files&)>& push_again,
                   const std::function<void(std::chrono::milliseconds)>& wait);

}  // namespace kymo::push
