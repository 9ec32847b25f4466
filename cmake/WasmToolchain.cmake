# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# The toolchain of the presets wasm and wasm-threads: the Emscripten on PATH if it is new enough (an emsdk), else the one
# that tools/setup_emscripten.sh has unpacked. -DEMSCRIPTEN_ROOT_PATH=DIR names another.

if(NOT EMSCRIPTEN_ROOT_PATH)
  find_program(TANDEM_EMCC emcc NO_CACHE)
  if(TANDEM_EMCC)
    file(REAL_PATH "${TANDEM_EMCC}" emcc)
    get_filename_component(root "${emcc}" DIRECTORY)
    if(EXISTS "${root}/emscripten-version.txt")
      file(STRINGS "${root}/emscripten-version.txt" version REGEX "[0-9]")
      string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version}")
    endif()
  endif()
  if(NOT TANDEM_EMCC OR version VERSION_LESS 3.1.50)
    set(root "${CMAKE_CURRENT_LIST_DIR}/../build/emscripten")
    if(DEFINED ENV{TANDEM_EMSCRIPTEN_DIR})
      set(root "$ENV{TANDEM_EMSCRIPTEN_DIR}")
    endif()
    string(APPEND root "/emscripten")
    if(NOT EXISTS "${root}/emcc")
      message(FATAL_ERROR "there is no Emscripten: run tools/setup_emscripten.sh, or put emsdk 3.1.50 or later on PATH")
    endif()
  endif()
  get_filename_component(EMSCRIPTEN_ROOT_PATH "${root}" ABSOLUTE)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EMSCRIPTEN_ROOT_PATH)

include("${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake")
