/* OpenCL as any program uses it, without an extension and without profiling. The first argument says what it does:
 *
 *   finish    20 kernels, 2 copies to the device and 1 back, 1 fill, 1 map and 1 unmap, 1 marker; everything is awaited
 *   pending   a kernel that waits for a user event that is never set; the program exits
 *   cut       the same, and the program is killed
 *   killed    5 kernels, then a second of rest, then SIGKILL
 *   fork      5 kernels, then a child that exits, then 5 more
 *   timed     5 kernels in a queue with profiling; fails if their times are not available
 *   untimed   5 kernels in a queue without; fails if their times are available, or if the queue shows profiling
 *
 *   buffer    3 times a command buffer with 2 kernels, through functions of an extension
 *
 * Exits with 77 if there is no device, or if it does not have the extension. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ELEMENTS 4096
#define BYTES (ELEMENTS * sizeof(float))

/* The extension cl_khr_command_buffer, as far as it is used here. Some headers have it, in different versions. */
typedef struct command_buffer* buffer_handle;
typedef buffer_handle (*create_buffer_function)(cl_uint, const cl_command_queue*, const void*, cl_int*);
typedef cl_int (*add_kernel_function)(buffer_handle, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                      const size_t*, const size_t*, cl_uint, const void*, void*, void*);
typedef cl_int (*finalize_function)(buffer_handle);
typedef cl_int (*enqueue_function)(cl_uint, cl_command_queue*, buffer_handle, cl_uint, const cl_event*, cl_event*);

static void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, code);
  exit(1);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "finish";
  cl_platform_id platform;
  cl_device_id device;
  cl_uint count = 0;
  if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
    fprintf(stderr, "no OpenCL device here\n");
    return 77;
  }
  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  const int is_timed = strcmp(what, "timed") == 0;
  cl_command_queue queue = clCreateCommandQueue(context, device, is_timed ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
  check(code, "clCreateCommandQueue");
  const char* source = "__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2; }";
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "twice", &code);
  check(code, "clCreateKernel");
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
  check(code, "clCreateBuffer");
  check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
  const size_t threads = ELEMENTS, group = 64;

  if (strcmp(what, "finish") == 0) {
    static float host[ELEMENTS];
    for (int i = 0; i < ELEMENTS; ++i) host[i] = (float)i;
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, host, 0, NULL, NULL), "write");
    for (int i = 0; i < 20; ++i)
      check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &threads, &group, 0, NULL, NULL), "launch");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, host, 0, NULL, NULL), "read");
    if (host[3] != 3.0f * 1048576.0f) return 1;
    check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, BYTES, host, 0, NULL, NULL), "write");
    const cl_uint zero = 0;
    check(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL), "fill");
    void* mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, NULL);
    check(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL), "unmap");
    check(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL), "marker");
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
  }
  if (strcmp(what, "pending") == 0 || strcmp(what, "cut") == 0) {
    cl_event never = clCreateUserEvent(context, &code);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &threads, &group, 0, NULL, NULL), "launch");
    check(clFinish(queue), "clFinish");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &threads, &group, 1, &never, NULL), "launch");
    check(clFlush(queue), "clFlush");
    if (strcmp(what, "cut") == 0) raise(SIGKILL);
    return 0;
  }
  if (strcmp(what, "buffer") == 0) {
    create_buffer_function create =
        (create_buffer_function)clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR");
    add_kernel_function add =
        (add_kernel_function)clGetExtensionFunctionAddressForPlatform(platform, "clCommandNDRangeKernelKHR");
    finalize_function finalize =
        (finalize_function)clGetExtensionFunctionAddressForPlatform(platform, "clFinalizeCommandBufferKHR");
    enqueue_function enqueue =
        (enqueue_function)clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueCommandBufferKHR");
    if (create == NULL || add == NULL || finalize == NULL || enqueue == NULL) {
      fprintf(stderr, "the driver has no command buffers\n");
      return 77;
    }
    buffer_handle commands = create(1, &queue, NULL, &code);
    check(code, "clCreateCommandBufferKHR");
    for (int i = 0; i < 2; ++i)
      check(add(commands, NULL, NULL, kernel, 1, NULL, &threads, &group, 0, NULL, NULL, NULL), "clCommandNDRange");
    check(finalize(commands), "clFinalizeCommandBufferKHR");
    for (int i = 0; i < 3; ++i) {
      check(enqueue(0, NULL, commands, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
      check(clFinish(queue), "clFinish");
    }
    return 0;
  }
  cl_event last = NULL;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i) {
      if (last != NULL) clReleaseEvent(last);
      check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &threads, &group, 0, NULL, &last), "launch");
    }
    check(clFinish(queue), "clFinish");
    if (strcmp(what, "killed") == 0) {
      sleep(1);
      raise(SIGKILL);
    }
    if (strcmp(what, "fork") != 0) break;
    if (round == 0) {
      const pid_t child = fork();
      if (child == 0) exit(0);
      int status = 0;
      if (waitpid(child, &status, 0) != child || status != 0) return 1;
    }
  }
  cl_ulong end = 0;
  code = clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
  cl_command_queue_properties properties = 0;
  clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  const int shows = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  if (is_timed ? code != CL_SUCCESS || !shows : code != CL_PROFILING_INFO_NOT_AVAILABLE || shows) {
    fprintf(stderr, "times: %d, properties: %d\n", code, (int)properties);
    return 1;
  }
  return 0;
}
