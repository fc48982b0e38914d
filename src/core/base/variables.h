// The environment variables that Kymo reads: the one list. base/environment.h refuses to compile the name of another
// one, and `kymo manual environment` prints those for users, which is docs/environment.md.
#pragma once

#include <iterator>
#include <string_view>

namespace kymo::base {

struct VariableDescription {
  std::string_view name;
  std::string_view value;  // what it may be
  std::string_view help;   // one sentence; empty: programs of Kymo set it for each other
};

struct VariableTopic {
  std::string_view title;
  const VariableDescription* begin;
  const VariableDescription* end;
};

inline constexpr VariableDescription kRecordingVariables[] = {
    {"KYMO_TRACE", "FILE", "Records the program into this trace, without the `kymo` command."},
    {"KYMO_POLICY", "block, drop, overwrite", "What a thread does when its ring is full."},
    {"KYMO_FLIGHT", "30s, 64MB", "Keeps only the latest events, in memory, for `kymo trigger --last`."},
    {"KYMO_RING_BYTES", "SIZE", "Memory for each thread that records; default 1MiB."},
    {"KYMO_SHM_DIR", "FOLDER", "Where the memory that programs record into is; default `/dev/shm`."},
    {"KYMO_SINKS", "usdt, lttng, trace-marker, nvtx", "Sends annotations also to these tools, separated by commas."},
    {"KYMO_STACKS", "unwind-tables, frame-pointers", "How stacks of operations and allocations are found."},
    {"KYMO_SAMPLE", "1kHz, off", "The default of `kymo record --sample`."},
};

inline constexpr VariableDescription kOnDemandVariables[] = {
    {"KYMO_DAEMON", "1, SOCKET", "Makes the program traceable on demand, by the daemon with this socket."},
    {"KYMO_TRACE_DIR", "FOLDER:FOLDER", "The only folders that traces on demand may be written to."},
};

inline constexpr VariableDescription kInterfaceVariables[] = {
    {"KYMO_OPENMP", "on, off", "Keeps the OpenMP tool loaded while nothing records, for traces on demand."},
    {"KYMO_OPENCL_PROFILING", "on, off", "Whether the OpenCL layer turns on the profiling of queues."},
    {"KYMO_VULKAN_COMMANDS", "on, off", "Whether each Vulkan command has a time, and not only each submission."},
    {"KYMO_CUDA_GRAPH_NODES", "1", "Records each kernel of a CUDA graph, which costs more."},
    {"KYMO_CUPTI", "FILE", "The libcupti.so to use."},
    {"KYMO_PYTHON_STACKS", "off", "No lines of Python for operators and launches; see `kymo record --python-stacks`."},
};

inline constexpr VariableDescription kDeviceVariables[] = {
    {"KYMO_DEVICE", "cuda:0, opencl:1, vulkan", "The device that programs use; `kymo devices` lists them."},
    {"KYMO_PROFILE_LOG", "statistics, …", "Prints lines and tables of device work; see profiler.md."},
    {"KYMO_SIGNPOSTS", "…", "Writes signposts of device work; see profiler.md."},
    {"KYMO_CAPTURE_ENABLED", "1", "Permits captures of device work."},
    {"KYMO_CACHE_DIR", "FOLDER",
     "Where compiled kernels and the token of `kymo view` are kept; default `~/.cache/kymo`."},
    {"KYMO_HIGH_WATERMARK_RATIO", "0 to 2", "The part of the recommended maximum of memory that a process may use."},
    {"KYMO_LOW_WATERMARK_RATIO", "0 to 2", "From this part on, memory that is not used is given back."},
    {"KYMO_VULKAN_TIMES", "dispatch, submission", "What has timestamps of its own on Vulkan."},
    {"KYMO_VULKAN_TRUST", "1", "Uses a Vulkan device although its driver is known to crash."},
    {"KYMO_CUDA_LIBRARY", "FILE", "The libcuda.so to use."},
    {"KYMO_NVRTC_LIBRARY", "FILE", "The libnvrtc.so to use."},
    {"KYMO_OPENCL_LIBRARY", "FILE", "The libOpenCL.so to use."},
    {"KYMO_VULKAN_LIBRARY", "FILE", "The libvulkan.so to use."},
    {"KYMO_GLSLANG", "FILE", "The program to use that compiles GLSL: glslangValidator or glslang."},
};

inline constexpr VariableDescription kDataVariables[] = {
    {"KYMO_JOB", "NAME", "The job of a recorded program, for `kymo push`."},
    {"KYMO_RANK", "N", "The rank of a recorded program, for `kymo push` and `kymo merge`."},
    {"KYMO_RUN", "NAME", "Which run of the job it is; all ranks of a run have the same."},
    {"KYMO_CLICKHOUSE_PASSWORD", "TEXT", "The password of the ClickHouse server."},
    {"KYMO_CLICKHOUSE_PASSWORD_FILE", "FILE", "A file with that password in its first line."},
    {"KYMO_CLICKHOUSE_TIMEOUT", "5m", "How long to wait for a ClickHouse server."},
    {"KYMO_DUCKDB_LIBRARY", "FILE", "The libduckdb.so of `kymo query`."},
    {"KYMO_COMMAND", "FILE", "The `kymo` command that the Python package starts."},
};

// What programs of Kymo set for each other.
inline constexpr VariableDescription kInternalVariables[] = {
    {"KYMO_SESSION", "", ""},        {"KYMO_SESSION_FILE", "", ""}, {"KYMO_SESSION_HOME", "", ""},
    {"KYMO_TRACE_SESSION", "", ""},  {"KYMO_MALLOC", "", ""},       {"KYMO_SAMPLE_PACKETS", "", ""},
    {"KYMO_STATIC_PROGRAM", "", ""}, {"KYMO_INTERFACES", "", ""},   {"KYMO_PYTHON_FUNCTIONS", "", ""},
    {"KYMO_GPU_STALLS", "", ""}};

inline constexpr VariableTopic kVariableTopics[] = {
    {"Recording", std::begin(kRecordingVariables), std::end(kRecordingVariables)},
    {"On demand", std::begin(kOnDemandVariables), std::end(kOnDemandVariables)},
    {"Interfaces of programs that do not know Kymo", std::begin(kInterfaceVariables), std::end(kInterfaceVariables)},
    {"Devices", std::begin(kDeviceVariables), std::end(kDeviceVariables)},
    {"Queries, Python and many traces", std::begin(kDataVariables), std::end(kDataVariables)},
    {"Internal", std::begin(kInternalVariables), std::end(kInternalVariables)},
};

// Other tools' variables are not Kymo's to list.
consteval bool is_listed_variable(std::string_view name) {
  if (!name.starts_with("KYMO_")) return true;
  for (const VariableTopic& topic : kVariableTopics)
    for (const VariableDescription* one = topic.begin; one != topic.end; ++one)
      if (one->name == name) return true;
  return false;
}

}  // namespace kymo::base
