// The OpenMP tool: parallel regions, work, barriers, waits and tasks as ranges on their threads.
//
// An OpenMP runtime with OMPT (LLVM's libomp; not GCC's libgomp) calls ompt_start_tool in the libraries that
// OMP_TOOL_LIBRARIES names, before its first region. A tool that is registered makes each region a little slower, also
// while nothing records. So the tool declines unless a recording runs at that moment, or KYMO_OPENMP=on asks for it.
#pragma once

#include "inject/openmp/abi.h"

extern "C" {
__attribute__((visibility("default"))) kymo::inject::openmp::StartResult* ompt_start_tool(unsigned int version,
                                                                                          const char* runtime);
}
