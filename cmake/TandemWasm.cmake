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

# Side modules, what Emscripten has in place of shared libraries, find all of the C library in the main module, which is
# the larger and slower for it.
option(TANDEM_WASM_OP_LIBRARIES "Build modules that load op libraries; those of the npm package load none" OFF)
if(TANDEM_WASM_OP_LIBRARIES)
  if(TANDEM_WASM_THREADS)
    message(FATAL_ERROR "TANDEM_WASM_OP_LIBRARIES: expected a build without threads, got TANDEM_WASM_THREADS")
  endif()
  add_compile_options(-fPIC)
  add_compile_definitions(TANDEM_WASM_OP_LIBRARIES)
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

string(REPLACE "-O3" "-Oz" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# What a page loads is small: sources are compiled for size, all but those below, whose speed one notices. TANDEM_SMALL tells
# the sources, which then have loops for size for all types but f32, and numbers' texts without tables.
function(tandem_small_library target)
  target_compile_definitions(${target} PRIVATE TANDEM_SMALL)
  tandem_precompile_headers(${target} ${TANDEM_STANDARD_HEADERS})
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    if(name IN_LIST TANDEM_FAST_SOURCES)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${TANDEM_FAST_OPTIONS})
      set_property(SOURCE ${source} PROPERTY SKIP_PRECOMPILE_HEADERS ON)  # has other options
    endif()
  endforeach()
endfunction()
# No vectors but those we write or ask for, and no loops unrolled that are not short and of constant length.
set(TANDEM_FAST_OPTIONS -O2 -fno-vectorize -fno-slp-vectorize -mllvm=-unroll-runtime=false
                        -mllvm=-unroll-allow-partial=false)
set(TANDEM_FAST_SOURCES
    # The way of a call.
    async_value execute host_allocator kernel kernel_call kernel_op kernel_op_fast_path kernel_op_handler
    op_attrs op_signature tensor tensor_shape
    # Kernels of f32, and what moves elements of all types.
    convolution_depthwise convolution_depthwise_rows convolution_depthwise_tiles convolution_image convolution_product convolution_taps
    convolution_tiles elementwise_activation_rows elementwise_blocks elementwise_cast_rows elementwise_math_rows
    elementwise_simd_rows elementwise_tile_rows fused_epilogue gemm_kernels image_rows indexing_rows nn_rows normalization_batch
    normalization_rows pooling_rows reduction_rows shape_strided_copy simd_activations simd_inverse simd_math simd_rows)

# A program to be run by Node, such as a test: exceptions, the machine's files, memory and a stack as natively; main on a
# thread of its own where there are threads, since it waits for others.
function(tandem_node_program target)
  target_compile_options(${target} PRIVATE -fwasm-exceptions)
  target_link_options(${target} PRIVATE -fwasm-exceptions -O1 -sENVIRONMENT=node,worker -sNODERAWFS=1 -sEXIT_RUNTIME=1
                      -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=8MB
                      "SHELL:--pre-js \"${PROJECT_SOURCE_DIR}/cmake/node_environment.js\"")
  if(TANDEM_WASM_OP_LIBRARIES)
    target_link_options(${target} PRIVATE -sMAIN_MODULE=1)
  endif()
  if(TANDEM_WASM_THREADS)
    target_link_options(${target} PRIVATE -sPROXY_TO_PTHREAD -sDEFAULT_PTHREAD_STACK_SIZE=8MB
                        -Wno-pthreads-mem-growth)
  endif()
endfunction()
