# kymo_library(NAME OUTPUT output COMPONENTS component... [NEEDS library...] [SHARED_COMPONENTS component...]
#              [LIBS library...] [EXPORTED_ONLY])
#
# A library is what a program links: the components' objects, compiled once, as libOUTPUT.so (kymo::NAME) and libOUTPUT.a
# (kymo::NAME_static). It exports what a public header marks KYMO_API. NEEDS are the libraries that it depends on.
# SHARED_COMPONENTS are components that those libraries contain but do not export: the shared library needs its own copy,
# the static one does not. EXPORTED_ONLY also hides the templates of the standard library.
function(kymo_library NAME)
  cmake_parse_arguments(LIBRARY "EXPORTED_ONLY" "OUTPUT" "COMPONENTS;NEEDS;SHARED_COMPONENTS;LIBS" ${ARGN})
  foreach(kind COMPONENTS SHARED_COMPONENTS)
    set(${kind}_objects)
    foreach(component IN LISTS LIBRARY_${kind})
      get_target_property(type kymo_${component} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        list(APPEND ${kind}_objects $<TARGET_OBJECTS:kymo_${component}>)
      endif()
    endforeach()
  endforeach()

  set(shared kymo_library_${NAME})
  set(static kymo_library_${NAME}_static)
  add_library(${shared} SHARED ${COMPONENTS_objects} ${SHARED_COMPONENTS_objects})
  add_library(${static} STATIC ${COMPONENTS_objects})
  add_library(kymo::${NAME} ALIAS ${shared})
  add_library(kymo::${NAME}_static ALIAS ${static})

  foreach(target ${shared} ${static})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${LIBRARY_OUTPUT} LINKER_LANGUAGE CXX)
  endforeach()
  set_target_properties(${shared} PROPERTIES
    EXPORT_NAME ${NAME}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN;$ORIGIN/kymo")  # it finds the libraries that it needs in any folder: a program's own path is not used for them
  set_target_properties(${static} PROPERTIES EXPORT_NAME ${NAME}_static)

  target_link_libraries(${shared} PRIVATE ${LIBRARY_LIBS} Threads::Threads)
  list(TRANSFORM LIBRARY_LIBS REPLACE "^PkgConfig::" "")  # by its plain name, which needs no target where it is used
  target_link_libraries(${static} PUBLIC ${LIBRARY_LIBS} Threads::Threads)
  foreach(needed IN LISTS LIBRARY_NEEDS)
    target_link_libraries(${shared} PUBLIC kymo_library_${needed})
    target_link_libraries(${static} PUBLIC kymo_library_${needed}_static)
  endforeach()
  # Threads may outlive a dlclose: the code stays mapped.
  target_link_options(${shared} PRIVATE -Wl,-z,nodelete)
  if(NOT KYMO_SANITIZE)  # a sanitizer's symbols come from the program
    target_link_options(${shared} PRIVATE -Wl,--no-undefined)
  endif()
  if(LIBRARY_EXPORTED_ONLY)
    target_link_options(${shared} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exported.map)
  endif()
  set_property(GLOBAL APPEND PROPERTY KYMO_LIBRARIES ${shared} ${static})
  set_property(GLOBAL APPEND PROPERTY KYMO_COMPONENTS ${NAME})
endfunction()

# kymo_own_cxx(TARGET): a library that is loaded into programs we do not know. It contains what it needs of the C++ library,
# because the program may have an older one, and exports none of it.
function(kymo_own_cxx TARGET)
  target_sources(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/src/core/unwind/find_object.c)
  target_link_options(${TARGET} PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections)
endfunction()
