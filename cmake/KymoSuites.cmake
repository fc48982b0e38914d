# Included by CTest when it runs, for one program with GoogleTest: its suites as tests, each in a process of its own.
#
#   program, prefix  what it is, and what its tests' names begin with
#   properties       of every test
cmake_policy(VERSION 3.24)
if(NOT EXISTS "${program}")
  return()  # it was not asked for
endif()
set(ENV{ASAN_OPTIONS} detect_leaks=0)  # only looking, which takes seconds
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
unset(ENV{ASAN_OPTIONS})
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${program} --gtest_list_tests: ${status}")
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z][^ \n]*\\.(\n|  #)" suites "${listed}")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n# ]|\\.[\n# ]*$" "" suite "${suite}")
  add_test("${prefix}.${suite}" ${program} --gtest_brief=1 "--gtest_filter=${suite}.*")
  set_tests_properties("${prefix}.${suite}" PROPERTIES ${properties})
endforeach()
