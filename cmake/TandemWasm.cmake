# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# What a WebAssembly build sets for all targets, and the header-only libraries it takes from the system.

option(TANDEM_WASM_THREADS "Build for threads (SharedArrayBuffer), which a page must be isolated for" OFF)

# Before any target: 128-bit SIMD always, and what a module with threads must be compiled with throughout.
add_compile_options(-msimd128)
if(TANDEM_WASM_THREADS)
  add_compile_options(-pthread)
  add_link_options(-pthread)
endif()

# The system's own include folder cannot be given to the compiler, since it has another C library's headers: one that has
# links to these libraries' folders alone.
set(TANDEM_HEADERS /usr/include CACHE PATH "Where the folders hwy, nlohmann, CLI and eigen3 are, for WebAssembly builds")
set(headers "${CMAKE_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${headers}")
function(tandem_header_library target folder package)
  if(NOT EXISTS "${TANDEM_HEADERS}/${folder}")
    message(FATAL_ERROR "no ${TANDEM_HEADERS}/${folder}: run tools/setup.sh, or install ${package}, or set TANDEM_HEADERS")
  endif()
  file(CREATE_LINK "${TANDEM_HEADERS}/${folder}" "${headers}/${folder}" SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE "${headers}" ${ARGN})
endfunction()
tandem_header_library(Eigen3::Eigen eigen3 libeigen3-dev "${headers}/eigen3")
tandem_header_library(tandem::highway hwy libhwy-dev)
if(TANDEM_BUILD_TESTS)
  tandem_header_library(CLI11::CLI11 CLI libcli11-dev)
  tandem_header_library(nlohmann_json::nlohmann_json nlohmann nlohmann-json3-dev)
endif()

# A program to be run by Node, such as a test: exceptions, the machine's files, memory and a stack as natively; main on a
# thread of its own where there are threads, since it waits for others.
function(tandem_node_program target)
  target_compile_options(${target} PRIVATE -fwasm-exceptions)
  target_link_options(${target} PRIVATE -fwasm-exceptions -O1 -sENVIRONMENT=node,worker -sNODERAWFS=1 -sEXIT_RUNTIME=1
                      -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=8MB
                      "SHELL:--pre-js \"${PROJECT_SOURCE_DIR}/cmake/node_environment.js\"")
  if(TANDEM_WASM_THREADS)
    target_link_options(${target} PRIVATE -sPROXY_TO_PTHREAD -sDEFAULT_PTHREAD_STACK_SIZE=8MB
                        -Wno-pthreads-mem-growth)
  endif()
endfunction()
