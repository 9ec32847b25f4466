# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Headers of other libraries take a third to two thirds of the time of a compilation: they are read once for all sources
# that are compiled with the same options. What the code computes is the same; g++ may inline a function of the standard
# library otherwise. A source includes what it uses all the same; a build with TANDEM_PRECOMPILE_HEADERS off, as in a
# project that embeds Tandem, says where one forgot.

option(TANDEM_PRECOMPILE_HEADERS "Read the headers of other libraries once for many sources" ${PROJECT_IS_TOP_LEVEL})

set(TANDEM_STANDARD_HEADERS
    <algorithm> <array> <atomic> <bit> <chrono> <cmath> <complex> <condition_variable> <cstddef> <cstdint> <cstring>
    <functional> <limits> <map> <memory> <mutex> <new> <optional> <span> <string> <string_view> <type_traits>
    <unordered_map> <utility> <variant> <vector>)

# A compiler cache wants g++ to say where in a preprocessed source they are, and Clang to leave out their time. g++ 12
# forgets that they are a library's, of whose code it tells nothing otherwise: what its optimiser believes to have found
# there, such as GCC bug 105651, is no error.
set(TANDEM_OPTIMISER_WARNINGS array-bounds stringop-overflow stringop-overread)
function(tandem_cache_headers target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                                           "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  foreach(warning IN LISTS TANDEM_OPTIMISER_WARNINGS)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-error=${warning}>)
  endforeach()
endfunction()

# Headers of one target's own; sources of it that have further options are to have SKIP_PRECOMPILE_HEADERS too.
function(tandem_precompile_headers target)  # headers...
  if(TANDEM_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    tandem_cache_headers(${target})
  endif()
endfunction()

# A target that has headers for others, whose options are to be set as those of the others.
function(tandem_add_headers target)  # headers...
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/headers/${target}.cc" CONTENT "")
  add_library(${target} OBJECT "${CMAKE_BINARY_DIR}/headers/${target}.cc")
  tandem_precompile_headers(${target} ${ARGN})
endfunction()

# The headers of `owner`, made by tandem_add_headers.
function(tandem_use_headers target owner)
  if(TANDEM_PRECOMPILE_HEADERS AND TARGET ${owner} AND NOT target STREQUAL owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    tandem_cache_headers(${target})
  endif()
endfunction()
