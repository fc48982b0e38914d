// Calls in which a thread of the program waits for the device, or for the compiler.
#include "inject/opencl/count.h"
#include "inject/opencl/recorder.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"

namespace kymo::inject::opencl {
namespace {

// Readers know a wait for a device by this category and by "wait".
constinit Site wait_for_queue(Label("wait for queue", "device")), wait_for_events(Label("wait for events", "device"));
constinit Site build(Label("build program", "compile")), compile(Label("compile program", "compile")),
    link(Label("link program", "compile"));

// `is_ours` says if the object of the call is recorded, and is called only if something records.
template <class IsOurs, class Call>
auto recorded(Site& site, IsOurs is_ours, Call call) noexcept {
  const uint64_t began = kymo::detail::recording() && is_ours() ? kymo_ticks() : 0;
  const auto result = call();
  if (began != 0) {
    kymo_span_at(&site, nullptr, 0, began, 0);
    count_event();
  }
  return result;
}

bool is_ours(cl_context context) noexcept { return !recorder().objects().is_excluded(context); }

bool is_ours(cl_program program) noexcept {
  return target.clGetProgramInfo == nullptr ||
         is_ours(ask<cl_context>(target.clGetProgramInfo, program, CL_PROGRAM_CONTEXT));
}

// By the first event. One of the program's own is in no queue.
bool is_ours(cl_uint count, const cl_event* events) noexcept {
  if (count == 0 || events == nullptr) return false;
  const auto queue = ask<cl_command_queue>(target.clGetEventInfo, events[0], CL_EVENT_COMMAND_QUEUE);
  return queue == nullptr || recorder().objects().queue(queue) != nullptr;
}

cl_int CL_API_CALL finish(cl_command_queue queue) noexcept {
  return recorded(
      wait_for_queue, [&] { return recorder().objects().queue(queue) != nullptr; },
      [&] { return target.clFinish(queue); });
}

cl_int CL_API_CALL wait(cl_uint count, const cl_event* events) noexcept {
  return recorded(
      wait_for_events, [&] { return is_ours(count, events); }, [&] { return target.clWaitForEvents(count, events); });
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                 void(CL_CALLBACK* notify)(cl_program, void*), void* data) noexcept {
  return recorded(
      build, [&] { return is_ours(program); },
      [&] { return target.clBuildProgram(program, count, devices, options, notify, data); });
}

cl_int CL_API_CALL compile_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                   cl_uint header_count, const cl_program* headers, const char** names,
                                   void(CL_CALLBACK* notify)(cl_program, void*), void* data) noexcept {
  return recorded(
      compile, [&] { return is_ours(program); },
      [&] {
        return target.clCompileProgram(program, count, devices, options, header_count, headers, names, notify, data);
      });
}

cl_program CL_API_CALL link_program(cl_context context, cl_uint count, const cl_device_id* devices, const char* options,
                                    cl_uint program_count, const cl_program* programs,
                                    void(CL_CALLBACK* notify)(cl_program, void*), void* data, cl_int* code) noexcept {
  return recorded(
      link, [&] { return is_ours(context); },
      [&] {
        return target.clLinkProgram(context, count, devices, options, program_count, programs, notify, data, code);
      });
}

}  // namespace

void add_host_calls(cl_icd_dispatch& table) {
  table.clFinish = finish;
  table.clWaitForEvents = wait;
  table.clBuildProgram = build_program;
  table.clCompileProgram = compile_program;
  table.clLinkProgram = link_program;
}

}  // namespace kymo::inject::opencl
