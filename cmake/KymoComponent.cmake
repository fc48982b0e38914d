# A component is one folder of a part: src/core, src/devices or src/fleet. What lies in it becomes targets by its name:
#
#   *.cc         one static library, kymo_COMPONENT
#   *_test.cc    together one test program, COMPONENT_test, whose suites CTest lists as COMPONENT.Suite
#   *_bench.cc   each a program of its own, bench_NAME, where KYMO_BENCH is on
#   *_fuzz.cc    each a fuzzer: fuzz/CMakeLists.txt finds them

# Components whose tests also run under ThreadSanitizer, and components whose tests start processes.
set(KYMO_CONCURRENT_COMPONENTS record inject inject_opencl inject_openmp inject_itt inject_vulkan unwind sink collect import analyze serve symbols heap counters sample device profiler replay edge ondemand)
set(KYMO_SEQUENTIAL_COMPONENTS shader)  # nothing in it is shared between threads: ThreadSanitizer need not look
set(KYMO_TEXT_COMPONENTS shader)  # no bytes are read as numbers there: a third of the checks would be for their alignment
set(KYMO_FORKING_COMPONENTS record inject inject_opencl inject_vulkan sink collect cli record_commands read_commands ondemand_commands fleet_commands symbols device profiler replay edge ondemand daemon)

# Components that run inside other people's programs: they see no header they do not include.
set(KYMO_BARE_COMPONENTS record unwind heap inject)

# Components that gain by -O3, and components that nobody waits for: at -O1 these compile in two thirds of the time. The rest is
# compiled with -O2. docs/building.md has the figures.
set(KYMO_HOT_COMPONENTS record inject unwind heap trace symbols collect analyze views edge)
set(KYMO_COLD_COMPONENTS options json wire dyno client sink counters memory capture replay daemon cli
  record_commands read_commands convert_commands ondemand_commands view_commands import_commands device_commands fleet_commands)

# Headers that many files include.
set(KYMO_COMMON_HEADERS <algorithm> <array> <atomic> <charconv> <cstdint> <cstring> <deque> <functional> <limits>
  <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant>
  <vector>)

set(KYMO_WARNINGS -Wall -Wextra -Wpedantic)
# In a batch one file's local names are around another's, and every file is a header to the compiler, where a class with
# members of local types would be a fault. The debug and lint presets have both warnings.
if(NOT KYMO_BATCHES)
  list(APPEND KYMO_WARNINGS -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND KYMO_WARNINGS $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND KYMO_WARNINGS -Wno-restrict)  # GCC 12 cries wolf over `"text" + std::string`: its bug 105651
endif()

# Seconds after which a test hangs. Generous, because on a loaded machine a test of one minute may take ten.
set(KYMO_TEST_LIMIT 1500)

add_custom_target(unit_tests)  # every test program beside the code
add_custom_target(tsan_tests)  # those of the concurrent components

# kymo_component(NAME [FOLDERS folder...] [TEST_FOLDERS folder...] [SOURCES file...] [USES component...]
#           [TEST_USES component...] [RELEASE_TESTS file...] [LIBS library...])
#
# FOLDERS are folders within that belong to the component, SOURCES files beyond what is found. USES names the components on lower
# layers that it includes: scripts/check-layers checks that it includes no others.
# TEST_FOLDERS are folders with code that only tests and fuzzers use. It is a library of its own, kymo_NAME_test_support, and no
# part of what is installed. TEST_USES are components that its tests link besides, as any program would. RELEASE_TESTS are tests
# of what a device computes, with nothing to say under a sanitizer.
function(kymo_component NAME)
  cmake_parse_arguments(COMPONENT "" "" "FOLDERS;TEST_FOLDERS;SOURCES;USES;TEST_USES;RELEASE_TESTS;LIBS" ${ARGN})
  set(patterns *.cc *.h)
  foreach(folder IN LISTS COMPONENT_FOLDERS)
    list(APPEND patterns ${folder}/*.cc ${folder}/*.h)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")  # a program of its own
  list(APPEND sources ${COMPONENT_SOURCES})
  set(support_patterns)
  foreach(folder IN LISTS COMPONENT_TEST_FOLDERS)
    list(APPEND support_patterns ${folder}/*.cc ${folder}/*.h)
  endforeach()
  set(support)
  if(support_patterns)
    file(GLOB support CONFIGURE_DEPENDS ${support_patterns})
  endif()
  set(tests ${sources} ${support})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(KYMO_SANITIZE)
    list(TRANSFORM COMPONENT_RELEASE_TESTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM tests ${COMPONENT_RELEASE_TESTS})
  endif()
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  foreach(list sources support)
    list(FILTER ${list} EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  endforeach()

  set(used ${COMPONENT_USES})
  list(TRANSFORM used PREPEND kymo_)
  set(kind PUBLIC)
  set(compiled ${sources})
  list(FILTER compiled INCLUDE REGEX "\\.cc$")
  if(compiled)
    add_library(kymo_${NAME} STATIC ${sources})
    target_compile_options(kymo_${NAME} PRIVATE ${KYMO_WARNINGS})
    if(NAME IN_LIST KYMO_HOT_COMPONENTS)
      target_compile_options(kymo_${NAME} PRIVATE $<$<CONFIG:Release>:-O3>)
    elseif(NAME IN_LIST KYMO_COLD_COMPONENTS)
      target_compile_options(kymo_${NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    if(NAME IN_LIST KYMO_SEQUENTIAL_COMPONENTS AND KYMO_SANITIZE MATCHES "thread")
      target_compile_options(kymo_${NAME} PRIVATE -fno-sanitize=thread -O0)
    endif()
    if(NAME IN_LIST KYMO_TEXT_COMPONENTS AND KYMO_SANITIZE MATCHES "undefined")
      target_compile_options(kymo_${NAME} PRIVATE -fno-sanitize=alignment)
    endif()
    set_target_properties(kymo_${NAME} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/components)
    kymo_batches(kymo_${NAME} ${compiled})
    # ThreadSanitizer's build compiles those that share nothing with other options.
    if(NOT NAME IN_LIST KYMO_BARE_COMPONENTS AND NOT (NAME IN_LIST KYMO_SEQUENTIAL_COMPONENTS AND KYMO_SANITIZE MATCHES "thread"))
      kymo_precompile(kymo_${NAME} kymo_base ${KYMO_COMMON_HEADERS} <base/text.h>)
    endif()
  else()
    set(kind INTERFACE)
    add_library(kymo_${NAME} INTERFACE)
  endif()
  file(RELATIVE_PATH part ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" part ${part})
  target_include_directories(kymo_${NAME} ${kind} ${PROJECT_SOURCE_DIR}/src/${part} ${PROJECT_SOURCE_DIR}/src/core
    ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(kymo_${NAME} ${kind} ${used} ${COMPONENT_LIBS})

  if(support AND (KYMO_TESTS OR KYMO_FUZZ))
    add_library(kymo_${NAME}_test_support STATIC ${support})
    target_compile_options(kymo_${NAME}_test_support PRIVATE ${KYMO_WARNINGS})
    set_target_properties(kymo_${NAME}_test_support PROPERTIES
      ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/components)
    list(FILTER support INCLUDE REGEX "\\.cc$")
    kymo_batches(kymo_${NAME}_test_support ${support})
    target_link_libraries(kymo_${NAME}_test_support PUBLIC kymo_${NAME})
    list(APPEND COMPONENT_TEST_USES ${NAME}_test_support)
  endif()

  if(KYMO_TESTS AND tests)
    add_executable(${NAME}_test ${tests})
    list(TRANSFORM COMPONENT_TEST_USES PREPEND kymo_)
    target_link_libraries(${NAME}_test PRIVATE kymo_${NAME} ${COMPONENT_TEST_USES})
    kymo_batches(${NAME}_test ${tests})
    kymo_gtest(${NAME}_test PREFIX ${NAME} LABEL unit)
    add_dependencies(unit_tests ${NAME}_test)
    if(NAME IN_LIST KYMO_CONCURRENT_COMPONENTS)
      add_dependencies(tsan_tests ${NAME}_test)
    endif()
  endif()

  if(KYMO_BENCH)
    foreach(bench IN LISTS benches)
      get_filename_component(bench_name ${bench} NAME)
      string(REGEX REPLACE "_bench\\.cc$" "" bench_name ${bench_name})
      add_executable(bench_${bench_name} ${bench})
      target_compile_options(bench_${bench_name} PRIVATE ${KYMO_WARNINGS})
      target_link_libraries(bench_${bench_name} PRIVATE kymo_${NAME} kymo_bench_peers)
    endforeach()
  endif()
endfunction()

# kymo_gtest(TARGET PREFIX prefix LABEL label): GoogleTest, and the program's suites in CTest, each in
# a process of its own; where AddressSanitizer can look for leaks, the whole program in one. They are listed when CTest
# runs, not when the program is linked, so that a sanitizer's needs at run time (see scripts/test) are met then too.
# A test finds the tree and what was built in it by base/test_tree.h.
function(kymo_gtest TARGET)
  cmake_parse_arguments(TEST "" "PREFIX;LABEL" "" ${ARGN})
  set(label ${TEST_LABEL})
  if(TEST_PREFIX IN_LIST KYMO_CONCURRENT_COMPONENTS)
    set(label ${label}-tsan)  # one word, as lists do not get through; `ctest -L unit` and `-L tsan` both find it
  endif()
  # Tests are compiled once and run for a moment.
  if(NOT TEST_PREFIX STREQUAL torch)  # libtorch's headers want other options
    kymo_precompile(${TARGET} base_test ${KYMO_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
      <base/text.h>)
  endif()
  target_compile_options(${TARGET} PRIVATE ${KYMO_WARNINGS} -O0)
  if(KYMO_FUZZ)  # what fuzzers and UndefinedBehaviorSanitizer look at is what is tested, not the tests
    target_compile_options(${TARGET} PRIVATE -fno-sanitize=fuzzer-no-link,undefined)
  endif()
  target_link_libraries(${TARGET} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)

  if(KYMO_SANITIZE MATCHES "address" AND NOT TEST_PREFIX IN_LIST KYMO_FORKING_COMPONENTS)
    add_test(NAME ${TEST_PREFIX} COMMAND ${TARGET} --gtest_brief=1)
    set_tests_properties(${TEST_PREFIX} PROPERTIES LABELS ${label} TIMEOUT ${KYMO_TEST_LIMIT})
    return()
  endif()
  set(environment)
  if(KYMO_SANITIZE MATCHES "address")
    # Drivers leak, and a forked child leaves its parent's memory: that looks the same.
    set(environment ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  elseif(KYMO_SANITIZE MATCHES "thread")
    # Drivers that run inside the process (PoCL, lavapipe) are not built for it: what they do among themselves is theirs.
    set(environment ENVIRONMENT "TSAN_OPTIONS=ignore_noninstrumented_modules=1 atexit_sleep_ms=20")
  endif()
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${TARGET}_suites.cmake)
  file(GENERATE OUTPUT ${suites} CONTENT "
set(program \"$<TARGET_FILE:${TARGET}>\")
set(prefix \"${TEST_PREFIX}\")
set(properties LABELS ${label} TIMEOUT ${KYMO_TEST_LIMIT} ${environment})
include(\"${PROJECT_SOURCE_DIR}/cmake/KymoSuites.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
