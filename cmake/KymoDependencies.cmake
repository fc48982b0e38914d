# Every library the project uses, found once. scripts/install-deps installs them.
# protozero, RapidJSON and xxhash are used as headers only and need no target.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)
find_package(ZLIB REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/document.h REQUIRED)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)

# Headers of the accelerators' interfaces. Their libraries are opened at run time; a backend whose headers are not here is
# not compiled in, and says so when it is asked for.
find_path(OPENCL_INCLUDE_DIR CL/cl.h PATHS /usr/local/cuda/include)
find_path(VULKAN_INCLUDE_DIR vulkan/vulkan.h)
find_path(CUDA_INCLUDE_DIR cuda.h PATHS /usr/local/cuda/include)
find_path(NVRTC_INCLUDE_DIR nvrtc.h PATHS /usr/local/cuda/include)  # for the benchmark alone

# Other people's tools, which annotations also go to: src/core/sink. One whose headers are not here says so likewise.
find_path(SDT_INCLUDE_DIR sys/sdt.h)
find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h PATHS /usr/local/cuda/include)
pkg_check_modules(lttng_ust IMPORTED_TARGET lttng-ust)

# What lies at an address, and names of performance events. Without them functions come from symbol tables, events by the
# kernel's own names. libunwind is what the tests compare stacks with.
add_library(kymo_debug_information INTERFACE)
add_library(kymo_event_names INTERFACE)
add_library(kymo_libunwind INTERFACE)
pkg_check_modules(dw IMPORTED_TARGET libdw)
pkg_check_modules(elf IMPORTED_TARGET libelf)
if(dw_FOUND AND elf_FOUND)
  target_link_libraries(kymo_debug_information INTERFACE PkgConfig::dw PkgConfig::elf)
  list(APPEND KYMO_STACK_LIBS PkgConfig::dw PkgConfig::elf)
  target_compile_definitions(kymo_debug_information INTERFACE KYMO_HAVE_DW=1)
endif()
pkg_check_modules(unwind IMPORTED_TARGET libunwind)
if(unwind_FOUND)
  target_link_libraries(kymo_libunwind INTERFACE PkgConfig::unwind)
  target_compile_definitions(kymo_libunwind INTERFACE KYMO_HAVE_UNWIND=1)
endif()
find_path(PFM_INCLUDE_DIR perfmon/pfmlib.h)
find_library(PFM_LIBRARY pfm)  # the shared one: the archive is not made for shared libraries everywhere
if(PFM_INCLUDE_DIR AND PFM_LIBRARY)
  target_link_libraries(kymo_event_names INTERFACE ${PFM_LIBRARY})
  list(APPEND KYMO_EVENT_LIBS ${PFM_LIBRARY})
  target_compile_definitions(kymo_event_names INTERFACE KYMO_HAVE_PFM=1)
endif()

# libtorch, for integrations/torch alone. By its files: its CMake package wants compilers of devices that are not here.
find_path(TORCH_INCLUDE_DIR torch/script.h)
find_library(TORCH_LIBRARY torch)
find_library(TORCH_CPU_LIBRARY torch_cpu)
find_library(C10_LIBRARY c10)
if(KYMO_TORCH AND TORCH_INCLUDE_DIR AND TORCH_LIBRARY AND TORCH_CPU_LIBRARY AND C10_LIBRARY)
  set(TORCH_FOUND TRUE)
endif()

if(KYMO_TESTS)
  find_package(GTest QUIET)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(GTest_FOUND AND Python3_FOUND)
    include(GoogleTest)
  else()
    message(STATUS "The tests are not built: GoogleTest or python3 is not there (scripts/install-deps test)")
    set(KYMO_TESTS OFF)
  endif()
endif()

# What benchmarks compare with, as far as it is there: KYMO_HAVE_LTTNG_UST, KYMO_HAVE_SPDLOG, KYMO_HAVE_SDT,
# KYMO_HAVE_NVTX say so to the code.
if(KYMO_BENCH)
  add_library(kymo_bench_peers INTERFACE)
  target_link_options(kymo_bench_peers INTERFACE -Wl,--as-needed)
  if(lttng_ust_FOUND)
    target_link_libraries(kymo_bench_peers INTERFACE PkgConfig::lttng_ust ${CMAKE_DL_LIBS})
    target_compile_definitions(kymo_bench_peers INTERFACE KYMO_HAVE_LTTNG_UST=1)
  endif()
  find_package(spdlog QUIET)
  if(spdlog_FOUND)
    target_link_libraries(kymo_bench_peers INTERFACE spdlog::spdlog_header_only)
    target_compile_definitions(kymo_bench_peers INTERFACE KYMO_HAVE_SPDLOG=1)
  endif()
  if(SDT_INCLUDE_DIR)
    target_compile_definitions(kymo_bench_peers INTERFACE KYMO_HAVE_SDT=1)
  endif()
  if(NVTX_INCLUDE_DIR)
    target_include_directories(kymo_bench_peers SYSTEM INTERFACE ${NVTX_INCLUDE_DIR})
    target_link_libraries(kymo_bench_peers INTERFACE ${CMAKE_DL_LIBS})
    target_compile_definitions(kymo_bench_peers INTERFACE KYMO_HAVE_NVTX=1)
  endif()
endif()
