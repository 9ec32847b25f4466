# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# The compiler settings of Tandem's own targets; none of them reaches a consumer.

# Every target: C++20, warnings. Tests, examples and benchmarks too.
function(tandem_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  # g++ 12 sees overlaps in the string concatenation of its own library (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  # Clang warns where a loop that we call independent is not worth vectorising after all; and, where they are precompiled, of
  # what libstdc++'s headers use of their own that is deprecated.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  if(NOT EMSCRIPTEN)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  endif()
  # Locations in errors name files from the top of the source tree, wherever that is, and where a compiler cache gives the
  # compiler paths from the build folder instead (CCACHE_BASEDIR).
  file(RELATIVE_PATH top "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
  foreach(folder "${PROJECT_SOURCE_DIR}" ${top})
    target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${folder}/=")
  endforeach()
  if(TANDEM_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# The libraries: errors are values. Their objects go into a shared library too, which shows what TANDEM_EXPORT marks;
# calls among its own functions are inlined as in a program. They use no run-time type information, but have it where
# other programs link with them: casts to classes of theirs and the checks of sanitizers need it of every class with
# virtual functions, hidden ones too.
function(tandem_library target)
  tandem_target(${target})
  target_compile_options(${target} PRIVATE -fno-exceptions)
  # A product and a sum are two roundings wherever no code asks for one: what loops compute must not depend on whether the
  # processor can do both at once.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(EMSCRIPTEN)
    target_compile_options(${target} PRIVATE -fno-rtti)
    tandem_small_library(${target})
  else()
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    tandem_use_headers(${target} tandem_library_headers)
  endif()
  # What a build with a list of ops (TandemOps.cmake) leaves out, nothing uses, and the linker then takes away.
  if(TANDEM_OPS_HEADER AND NOT MSVC)
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections -Wno-unused-function
                                             $<$<CXX_COMPILER_ID:Clang>:-Wno-unneeded-internal-declaration>)
  endif()
endfunction()

# For a folder of test programs. It is the libraries whose optimised code is tested; more optimisation of the programs,
# which compute references, takes longer to compile, and none at all longer to run.
function(tandem_optimise_tests_little)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options(-O1)
  endif()
endfunction()

# A program that links the libraries.
function(tandem_program target)
  tandem_target(${target})
  if(EMSCRIPTEN)
    # Its classes may derive from theirs, which have no type information to refer to.
    target_compile_options(${target} PRIVATE -fno-rtti)
    tandem_node_program(${target})
  endif()
endfunction()
