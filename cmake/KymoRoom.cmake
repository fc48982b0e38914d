# A room is one folder of src/. What lies in it becomes targets by its name:
#
#   *.cc         one static library, kymo_ROOM
#   *_test.cc    together one test program, ROOM_test, whose cases CTest lists singly as ROOM.Suite.Case
#   *_bench.cc   each a program of its own, bench_NAME, where KYMO_BENCH is on
#   *_fuzz.cc    each a fuzzer: fuzz/CMakeLists.txt finds them

# Rooms whose tests also run under ThreadSanitizer, and rooms whose tests start processes.
set(KYMO_CONCURRENT_ROOMS record unwind sink collect analyze stack hook counters device signpost capture edge ondemand)
set(KYMO_FORKING_ROOMS record sink collect cli stack device signpost capture edge ondemand daemon)

set(KYMO_WARNINGS -Wall -Wextra -Wpedantic -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND KYMO_WARNINGS -Wno-restrict)  # GCC 12 cries wolf over `"text" + std::string`: its bug 105651
endif()

add_custom_target(unit_tests)  # every test program beside the code
add_custom_target(tsan_tests)  # those of the concurrent rooms

# kymo_room(NAME [FOLDERS folder...] [SOURCES file...] [USES room...] [TEST_USES room...] [SUITES suite...]
#           [PLAIN_SUITES suite...] [LIBS library...])
#
# FOLDERS are folders within that belong to the room, SOURCES files beyond what is found. USES names the rooms on lower
# floors that this one includes from: those and no others, as scripts/check-floors sees to.
# TEST_USES are rooms that its tests link besides, as any program would. SUITES are suites (also parameterised ones,
# instantiated as Every/) that run in one process each, because a process of theirs takes long to begin; PLAIN_SUITES are
# such that have nothing to say under ThreadSanitizer.
function(kymo_room NAME)
  cmake_parse_arguments(ROOM "" "" "FOLDERS;SOURCES;USES;TEST_USES;SUITES;PLAIN_SUITES;LIBS" ${ARGN})
  set(patterns *.cc *.h)
  foreach(folder IN LISTS ROOM_FOLDERS)
    list(APPEND patterns ${folder}/*.cc ${folder}/*.h)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/absent\\.cc$")  # what stands in for a folder that is not compiled: named by SOURCES
  list(APPEND sources ${ROOM_SOURCES})
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")

  set(used ${ROOM_USES})
  list(TRANSFORM used PREPEND kymo_)
  set(kind PUBLIC)
  set(compiled ${sources})
  list(FILTER compiled INCLUDE REGEX "\\.cc$")
  if(compiled)
    add_library(kymo_${NAME} STATIC ${sources})
    target_compile_options(kymo_${NAME} PRIVATE ${KYMO_WARNINGS})
    set_target_properties(kymo_${NAME} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/rooms)
  else()
    set(kind INTERFACE)
    add_library(kymo_${NAME} INTERFACE)
  endif()
  target_include_directories(kymo_${NAME} ${kind} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(kymo_${NAME} ${kind} ${used} ${ROOM_LIBS})

  if(KYMO_TESTS AND tests)
    add_executable(${NAME}_test ${tests})
    list(TRANSFORM ROOM_TEST_USES PREPEND kymo_)
    target_link_libraries(${NAME}_test PRIVATE kymo_${NAME} ${ROOM_TEST_USES})
    kymo_gtest(${NAME}_test PREFIX ${NAME} LABEL unit SUITES ${ROOM_SUITES} PLAIN_SUITES ${ROOM_PLAIN_SUITES})
    add_dependencies(unit_tests ${NAME}_test)
    if(NAME IN_LIST KYMO_CONCURRENT_ROOMS)
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

# kymo_gtest(TARGET PREFIX prefix LABEL label): GoogleTest, and the program's tests in CTest: its cases; or where a
# sanitizer makes a process dear to begin its suites, and the whole program where AddressSanitizer can look for leaks.
# They are listed when CTest runs, not when the program is linked, so that a sanitizer's needs at run time (see
# scripts/test) are met then too.
# A test finds the tree and what was built in it by KYMO_SOURCE_DIR and KYMO_BINARY_DIR (bin/kymo, lib/libkymo.so).
function(kymo_gtest TARGET)
  cmake_parse_arguments(TEST "" "PREFIX;LABEL" "SUITES;PLAIN_SUITES" ${ARGN})
  set(label ${TEST_LABEL})
  if(TEST_PREFIX IN_LIST KYMO_CONCURRENT_ROOMS)
    set(label ${label}-tsan)  # one word, as lists do not get through; `ctest -L unit` and `-L tsan` both find it
  endif()
  # Tests are compiled once and run for a moment: together and unoptimised they take half as long.
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON)
  target_compile_options(${TARGET} PRIVATE ${KYMO_WARNINGS} -O0)
  target_compile_definitions(${TARGET} PRIVATE
    KYMO_SOURCE_DIR="${PROJECT_SOURCE_DIR}" KYMO_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${TARGET} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)

  if(KYMO_SANITIZE MATCHES "address" AND NOT TEST_PREFIX IN_LIST KYMO_FORKING_ROOMS)
    add_test(NAME ${TEST_PREFIX} COMMAND ${TARGET})
    set_tests_properties(${TEST_PREFIX} PROPERTIES LABELS ${label} TIMEOUT 600)
    return()
  endif()
  set(environment)
  if(KYMO_SANITIZE MATCHES "address")
    # Drivers leak, and a forked child leaves its parent's memory: that looks the same.
    set(environment ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  elseif(KYMO_SANITIZE MATCHES "thread")
    # Drivers that run inside the process (PoCL, lavapipe) are not built for it: what they do among themselves is theirs.
    set(environment ENVIRONMENT TSAN_OPTIONS=ignore_noninstrumented_modules=1)
  endif()
  set(together)  # suites that are a test each
  foreach(suite IN LISTS TEST_SUITES TEST_PLAIN_SUITES)
    add_test(NAME ${TEST_PREFIX}.${suite} COMMAND ${TARGET} --gtest_brief=1 --gtest_filter=Every/${suite}.*:${suite}.*)
    set(suite_label ${label})
    if(suite IN_LIST TEST_PLAIN_SUITES)
      set(suite_label ${TEST_LABEL})
    endif()
    set_tests_properties(${TEST_PREFIX}.${suite} PROPERTIES LABELS ${suite_label} TIMEOUT 600 ${environment}
      SKIP_REGULAR_EXPRESSION "no device here")
    list(APPEND together Every/${suite} ${suite})
  endforeach()
  if(KYMO_SANITIZE)
    set(suites ${CMAKE_CURRENT_BINARY_DIR}/${TARGET}_suites.cmake)
    file(GENERATE OUTPUT ${suites} CONTENT "
set(program \"$<TARGET_FILE:${TARGET}>\")
set(prefix \"${TEST_PREFIX}\")
set(properties LABELS ${label} TIMEOUT 600 ${environment})
set(left_out ${together})
include(\"${PROJECT_SOURCE_DIR}/cmake/KymoSuites.cmake\")
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
    return()
  endif()
  set(filter)
  if(together)
    list(TRANSFORM together APPEND ".*")
    list(JOIN together ":" filter)
    set(filter TEST_FILTER "-${filter}")
  endif()
  gtest_discover_tests(${TARGET} ${filter} TEST_PREFIX ${TEST_PREFIX}. NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
