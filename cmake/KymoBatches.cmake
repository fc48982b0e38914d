# kymo_batches(TARGET file...)
#
# Compiles the target's files several at a time, which takes less than half as long: what they include, and the templates
# they use, are compiled once a batch.
#
# A batch has files of one folder, and a file stays in its batch when other files come and go: a number made from its
# path says which. A file may call its local functions, types and constants as it likes: two files with a local name in
# common are never in one batch. Local names are found by their layout, which clang-format keeps: lines without
# indentation between `namespace {` and its end. A file with SKIP_UNITY_BUILD_INCLUSION is compiled by itself.
#
# CMake's own unity builds are not used: their files name the sources by absolute paths, so that what one clone compiled
# is of no use to another.
set(KYMO_BATCH_SIZE 20)

# Sets `names` in the caller to the names that `file` declares for itself.
function(_kymo_local_names file)
  # Changed local names make CMake look again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  foreach(mark "[" "]" ";")  # which CMake's lists have a meaning for
    string(REPLACE "${mark}" "=" text "${text}")
  endforeach()
  string(REGEX MATCHALL "\n[A-Za-z_}=][^\n]*" lines "${text}")
  set(names)
  set(is_local FALSE)
  foreach(line IN LISTS lines)
    string(SUBSTRING "${line}" 1 -1 line)  # without the line's beginning
    if(line STREQUAL "namespace {")
      set(is_local TRUE)
    elseif(line MATCHES "^}  // namespace$")
      set(is_local FALSE)
    elseif(is_local AND NOT line MATCHES "^(}|using [^=]*=$|namespace |def |[A-Z_]+\\()")
      # Left out: `using a::b;`, names of namespaces, Python in a raw string, macros like TEST(…).
      # Attributes, in both spellings, and what may follow a class's name.
      string(REGEX REPLACE "==[^=]*== ?|(__attribute__|alignas)\\((\\([^)]*\\)|[^()]*)\\) ?| final" "" line "${line}")
      # The name is the last word before what makes it a function, a variable, a type or an alias. Functions may have the
      # same name where their parameters' types differ.
      if(line MATCHES "^([^=({]* |)([A-Za-z_][A-Za-z_0-9]*)\\((.*)$")
        set(name ${CMAKE_MATCH_2})
        string(REGEX REPLACE " [a-z_0-9]+( = [^,)]*|)([,)])" "\\2" types "${CMAKE_MATCH_3}")
        string(REGEX REPLACE "\\) .*$" "" types "${types}")
        list(APPEND names "${name}(${types}")
      elseif(line MATCHES "([A-Za-z_][A-Za-z_0-9]*) *(=|{| : )")
        list(APPEND names ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(names ${names} PARENT_SCOPE)
endfunction()

function(kymo_batches TARGET)
  if(NOT KYMO_BATCHES)
    return()
  endif()
  set(folders)
  foreach(file IN LISTS ARGN)
    get_source_file_property(is_generated ${file} GENERATED)
    get_source_file_property(is_alone ${file} SKIP_UNITY_BUILD_INCLUSION)
    if(is_generated OR is_alone)
      continue()
    endif()
    get_filename_component(file ${file} ABSOLUTE)
    get_filename_component(folder ${file} DIRECTORY)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} ${file})
  endforeach()
  list(REMOVE_DUPLICATES folders)

  set(made ${CMAKE_CURRENT_BINARY_DIR}/batches/${TARGET})
  foreach(folder IN LISTS folders)
    get_filename_component(name ${folder} NAME)
    file(RELATIVE_PATH inside ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    if(inside AND NOT inside MATCHES "^\\.\\.")  # two folders within may have the same name
      string(REPLACE "/" "_" name ${inside})
    endif()
    list(LENGTH files_${folder} count)
    # A power of two, so that it seldom changes.
    set(batches 1)
    math(EXPR wanted "(${count} + ${KYMO_BATCH_SIZE} / 2) / ${KYMO_BATCH_SIZE}")
    while(batches LESS wanted)
      math(EXPR batches "${batches} * 2")
    endwhile()
    set(used)
    foreach(file IN LISTS files_${folder})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
      string(MD5 hash ${path})
      string(SUBSTRING ${hash} 0 6 hash)
      math(EXPR batch "0x${hash} % ${batches}")
      _kymo_local_names(${file})
      # The first batch from there on where none of the names is taken; more batches where all are.
      while(TRUE)
        set(taken ${taken_${batch}} ${names})
        list(LENGTH taken before)
        list(REMOVE_DUPLICATES taken)
        list(LENGTH taken after)
        if(before EQUAL after)
          break()
        endif()
        math(EXPR batch "${batch} + 1")
      endwhile()
      set(taken_${batch} ${taken})
      file(RELATIVE_PATH path ${made} ${file})
      string(APPEND text_${batch} "#include \"${path}\"\n")
      list(APPEND used ${batch})
    endforeach()
    list(REMOVE_DUPLICATES used)
    foreach(batch IN LISTS used)
      file(CONFIGURE OUTPUT ${made}/${name}_${batch}.cc @ONLY CONTENT
        "// Made by cmake/KymoBatches.cmake.\n${text_${batch}}")
      target_sources(${TARGET} PRIVATE ${made}/${name}_${batch}.cc)
      unset(text_${batch})
      unset(taken_${batch})
    endforeach()
    set_source_files_properties(${files_${folder}} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
endfunction()

# kymo_precompile(TARGET OWNER header...)
#
# The headers are parsed once, for OWNER, and are there in every file of TARGET. The owner comes first, and both are
# compiled with the same options.
function(kymo_precompile TARGET OWNER)
  # Without batches each file is compiled as it stands. Clang's precompiled headers name this clone's files and their
  # times, so that one from a compiler's cache fits no other.
  if(NOT KYMO_BATCHES OR CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  if(${TARGET} STREQUAL ${OWNER})
    target_precompile_headers(${TARGET} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${TARGET} REUSE_FROM ${OWNER})
  endif()
endfunction()
