// Converts a request of either protocol to a job, or returns why that is not possible.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ondemand/job.h"
#include "wire/message.h"

namespace kymo::ondemand {

// `folders`: the folders that the daemon allows, in addition to KYMO_TRACE_DIR.
base::Result<JobRequest> job_of(const wire::Start& start, const std::vector<std::string>& folders);

// The config text of libkineto, on top of base_config(). The file must be below /tmp, KINETO_ONDEMAND_TRACE_DIR or
// KYMO_TRACE_DIR. Unknown keys are listed in the trace. A requested warm-up is ignored, because recording needs none,
// and so are options of specific backends.
base::Result<JobRequest> job_of_config(const std::string& text);

// The configuration of libkineto programs on a host, in the form of their config text: the file that KINETO_CONFIG
// names, else /etc/libkineto.conf. Empty if there is none, or if it cannot be understood.
std::string base_config();

}  // namespace kymo::ondemand
