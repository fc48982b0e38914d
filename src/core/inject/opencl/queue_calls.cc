// Queues: the layer turns profiling on, and does not show this to the program.

#include <string.h>

#include <new>

#include "inject/adapter.h"
#include "inject/opencl/calls.h"
#include "inject/opencl/recorder.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"

namespace kymo::inject::opencl {
namespace {

constexpr size_t kMaxProperties = 64;  // words in a list of properties; a longer one is passed on as it is

bool forces_profiling() noexcept {
  static const bool forces = is_on("KYMO_OPENCL_PROFILING", true);
  return forces;
}

// The words of a list that ends with 0, with this 0. Nothing: it is longer than is plausible.
bool copy_list(const cl_queue_properties* list, std::vector<cl_queue_properties>& words) {
  if (list == nullptr) return true;
  for (size_t i = 0; i + 1 < kMaxProperties; i += 2) {
    words.push_back(list[i]);
    if (list[i] == 0) return true;
    words.push_back(list[i + 1]);
  }
  return false;
}

cl_command_queue_properties bits_of(const std::vector<cl_queue_properties>& words) noexcept {
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    if (words[i] == CL_QUEUE_PROPERTIES) return words[i + 1];
  return 0;
}

std::vector<cl_queue_properties> with_profiling(std::vector<cl_queue_properties> words) {
  if (!words.empty()) words.pop_back();  // the 0
  bool found = false;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] != CL_QUEUE_PROPERTIES) continue;
    words[i + 1] |= CL_QUEUE_PROFILING_ENABLE;
    found = true;
  }
  if (!found) words.insert(words.end(), {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE});
  words.push_back(0);
  return words;
}

void add(cl_command_queue handle, cl_device_id device, bool profiling, bool forced,
         std::vector<cl_queue_properties> properties) {
  Objects& objects = recorder().objects();
  auto state = std::make_unique<QueueState>();
  state->device = objects.device(device);
  state->has_profiling = profiling;
  state->is_forced = forced;
  state->properties = std::move(properties);
  objects.add_queue(handle, std::move(state));
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* code) noexcept {
  const bool has = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  bool forced = !has && forces_profiling() && !recorder().objects().is_excluded(context);
  cl_command_queue made =
      target.clCreateCommandQueue(context, device, properties | (forced ? CL_QUEUE_PROFILING_ENABLE : 0), code);
  if (made == nullptr && forced) {
    forced = false;
    made = target.clCreateCommandQueue(context, device, properties, code);
  }
  try {
    if (made != nullptr && !recorder().objects().is_excluded(context)) add(made, device, has || forced, forced, {});
  } catch (const std::bad_alloc&) {  // the queue is not recorded
  }
  return made;
}

// Also for the function of the extension cl_khr_create_command_queue, which has the same parameters.
template <class Create>
cl_command_queue create_queue_from_list(Create create, cl_context context, cl_device_id device,
                                        const cl_queue_properties* properties, cl_int* code) noexcept {
  std::vector<cl_queue_properties> words, changed;
  try {
    if (recorder().objects().is_excluded(context) || !copy_list(properties, words) ||
        (bits_of(words) & CL_QUEUE_ON_DEVICE) != 0)  // the host enqueues nothing in a queue on the device
      return create(context, device, properties, code);
    if (forces_profiling()) changed = with_profiling(words);
  } catch (const std::bad_alloc&) {
    return create(context, device, properties, code);
  }
  const bool has = (bits_of(words) & CL_QUEUE_PROFILING_ENABLE) != 0;
  bool forced = !has && !changed.empty();
  cl_command_queue made = create(context, device, forced ? changed.data() : properties, code);
  if (made == nullptr && forced) {
    forced = false;
    made = create(context, device, properties, code);
  }
  try {
    if (made != nullptr) add(made, device, has || forced, forced, std::move(words));
  } catch (const std::bad_alloc&) {  // the queue is not recorded
  }
  return made;
}

cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties,
                                                          cl_int* code) noexcept {
  return create_queue_from_list(target.clCreateCommandQueueWithProperties, context, device, properties, code);
}

cl_int CL_API_CALL retain_queue(cl_command_queue queue) noexcept {
  const cl_int code = target.clRetainCommandQueue(queue);
  if (code == CL_SUCCESS)
    if (QueueState* state = recorder().objects().queue(queue)) state->references.fetch_add(1);
  return code;
}

// The layer forgets the queue before the driver does: its address may belong to a new queue afterwards.
cl_int CL_API_CALL release_queue(cl_command_queue queue) noexcept {
  QueueState* state = recorder().objects().queue(queue);
  if (state != nullptr && state->references.fetch_sub(1) == 1) {
    recorder().objects().release_queue(queue);
    recorder().look_soon();
  }
  return target.clReleaseCommandQueue(queue);
}

cl_int CL_API_CALL queue_info(cl_command_queue queue, cl_command_queue_info what, size_t size, void* value,
                              size_t* returned) noexcept {
  const QueueState* state = recorder().objects().queue(queue);
  if (state == nullptr || !state->is_forced.load())
    return target.clGetCommandQueueInfo(queue, what, size, value, returned);
  if (what == CL_QUEUE_PROPERTIES_ARRAY) {
    const size_t bytes = state->properties.size() * sizeof(cl_queue_properties);
    if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
    if (value != nullptr && bytes != 0) memcpy(value, state->properties.data(), bytes);
    if (returned != nullptr) *returned = bytes;
    return CL_SUCCESS;
  }
  const cl_int code = target.clGetCommandQueueInfo(queue, what, size, value, returned);
  if (code == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && value != nullptr) {
    cl_command_queue_properties bits = 0;
    if (size >= sizeof bits) {
      memcpy(&bits, value, sizeof bits);
      bits &= ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE};
      memcpy(value, &bits, sizeof bits);
    }
  }
  return code;
}

// OpenCL 1.0: turns profiling on and off.
cl_int CL_API_CALL set_queue_property(cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable,
                                      cl_command_queue_properties* old) noexcept {
  QueueState* state = recorder().objects().queue(queue);
  const bool about_profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  if (state == nullptr || !state->has_profiling || !about_profiling)
    return target.clSetCommandQueueProperty(queue, properties, enable, old);
  const bool was_forced = state->is_forced.exchange(enable == CL_FALSE);
  const cl_int code = target.clSetCommandQueueProperty(
      queue, properties & ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE}, enable, old);
  if (old != nullptr && was_forced) *old &= ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE};
  return code;
}

// A program that did not turn profiling on gets no times, as without the layer.
cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t size, void* value,
                                  size_t* returned) noexcept {
  const auto queue = ask<cl_command_queue>(target.clGetEventInfo, event, CL_EVENT_COMMAND_QUEUE);
  if (const QueueState* state = recorder().objects().queue(queue); state != nullptr && state->is_forced.load())
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  return target.clGetEventProfilingInfo(event, what, size, value, returned);
}

// The layer's function for an entry of the table that creates a context.
template <auto kEntry, class... Args>
cl_context CL_API_CALL create_context_as(Args... args) noexcept {
  cl_context made = (target.*kEntry)(args...);
  try {
    recorder().objects().add_context(made);
  } catch (const std::bad_alloc&) {  // it has no number in the trace
  }
  return made;
}

// ---- Calls in which a thread of the program waits for the device, or for the compiler -------------------------------

// Readers know a wait for a device by this category and by "wait".
constinit Site wait_for_queue(Label("wait for queue", "device")), wait_for_events(Label("wait for events", "device"));
constinit Site build(Label("build program", "compile")), compile(Label("compile program", "compile")),
    link(Label("link program", "compile"));

bool is_ours(cl_command_queue queue) noexcept { return recorder().objects().queue(queue) != nullptr; }

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

// The function of the table with a span around it, if something records and `kIsOurs` says that the object of the call
// is recorded.
template <auto kEntry, Site& kSite, auto kIsOurs, class Result, class... Args>
Result CL_API_CALL recorded(Args... args) noexcept {
  const uint64_t began = kymo::detail::recording() && kIsOurs(args...) ? kymo_ticks() : 0;
  const Result result = (target.*kEntry)(args...);
  if (began != 0) {
    kymo_span_at(&kSite, nullptr, 0, began, 0);
    count_event();
  }
  return result;
}

}  // namespace

cl_command_queue create_queue_by_extension(CreateQueueFunction create, cl_context context, cl_device_id device,
                                           const cl_queue_properties* properties, cl_int* code) noexcept {
  return create_queue_from_list(create, context, device, properties, code);
}

void add_queue_calls(cl_icd_dispatch& table) {
  table.clCreateCommandQueue = create_queue;
  table.clCreateCommandQueueWithProperties = create_queue_with_properties;
  table.clRetainCommandQueue = retain_queue;
  table.clReleaseCommandQueue = release_queue;
  table.clGetCommandQueueInfo = queue_info;
  table.clSetCommandQueueProperty = set_queue_property;
  table.clGetEventProfilingInfo = profiling_info;

  using Table = cl_icd_dispatch;
  table.clCreateContext = create_context_as<&Table::clCreateContext>;
  table.clCreateContextFromType = create_context_as<&Table::clCreateContextFromType>;
  constexpr auto ours = [](auto object, auto...) { return is_ours(object); };
  constexpr auto ours_by_event = [](cl_uint count, const cl_event* events) { return is_ours(count, events); };
  table.clFinish = recorded<&Table::clFinish, wait_for_queue, ours>;
  table.clWaitForEvents = recorded<&Table::clWaitForEvents, wait_for_events, ours_by_event>;
  table.clBuildProgram = recorded<&Table::clBuildProgram, build, ours>;
  table.clCompileProgram = recorded<&Table::clCompileProgram, compile, ours>;
  table.clLinkProgram = recorded<&Table::clLinkProgram, link, ours>;
}

}  // namespace kymo::inject::opencl
