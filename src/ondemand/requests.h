// What is asked for, from either protocol, as a job; or why it cannot be one.
#pragma once

#include <string>
#include <vector>

#include "ondemand/job.h"
#include "wire/agent_messages.h"
#include "wire/result.h"

namespace kymo::ondemand {

// `folders`: those that the daemon allows, besides KYMO_TRACE_DIR.
wire::Result<JobRequest> job_of(const wire::Start& start, const std::vector<std::string>& folders);
wire::Result<JobRequest> job_of(const wire::MemoryStart& start, const std::vector<std::string>& folders);

// The peers' config text, on top of base_config(). It may be written below /tmp, KINETO_ONDEMAND_TRACE_DIR and
// KYMO_TRACE_DIR. Keys that are not known are said in the trace. Of what it says, a warm-up is not done, because
// recording needs none, and knobs of one backend or another have no meaning here.
wire::Result<JobRequest> job_of_config(const std::string& text);

}  // namespace kymo::ondemand
