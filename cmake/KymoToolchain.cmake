# How everything is compiled: the language, where the results go, ccache, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)  # two builds give the same bytes, wherever they are

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo" FORCE)
endif()

# -O3 is for the files that gain by it: they ask for it themselves.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  include(GNUInstallDirs)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # What was compiled in one clone is good in another; precompiled headers are known by their content. Depend mode
  # compares the headers themselves: what the preprocessor makes of them is the same after a change of a comment, but
  # GCC then no longer recognises the header in the precompiled one, and includes it twice. It also saves the
  # preprocessor's run.
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

if(KYMO_SANITIZE)
  # AddressSanitizer's code takes the compiler so long that -O1 costs more than it saves when the tests run.
  add_compile_options(-fsanitize=${KYMO_SANITIZE} -fno-omit-frame-pointer -g1
    $<IF:$<BOOL:${KYMO_FUZZ}>,-O0,-O1>)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  # -fsanitize=fuzzer-no-link is for compiling only; a fuzzer adds -fsanitize=fuzzer where it links.
  string(REPLACE "fuzzer-no-link," "" link_sanitizers "${KYMO_SANITIZE}")
  add_link_options(-fsanitize=${link_sanitizers})
  find_program(LLD ld.lld)  # several times as fast
  if(LLD)
    add_link_options(-fuse-ld=lld)
  endif()
  if(KYMO_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    # These checks take 40 % of the compiler's time. AddressSanitizer finds most of what the first and last do; nothing
    # replaces vptr, which finds objects used as another class.
    add_compile_options(-fno-sanitize=null,vptr,object-size)
  endif()
endif()
