// The job and rank that the traces of a file get: what is given, or what the store has for them, or what the
// environment of the recorded program says.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "push/batch.h"
#include "push/pusher.h"
#include "push/ranks.h"
#include "push/store.h"
#include "push/trace_file.h"
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

}  // namespace kymo::push
