# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Run after Emscripten has written GLUE, a module with threads: names the one .wasm file that is for all environments,
# and gives a worker's options as the literal that bundlers look for.

function(replace from to)
  string(FIND "${text}" "${from}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "expected ${from} in ${GLUE}: this Emscripten writes it otherwise")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

get_filename_component(name "${GLUE}" NAME_WLE)
file(READ "${GLUE}" text)
replace("\"${name}.wasm\"" "\"tandem-threads.wasm\"")
if(ENVIRONMENT STREQUAL "web")
  replace("import.meta.url),workerOptions)" "import.meta.url),{type:\"module\",name:\"em-pthread\"})")
endif()
file(WRITE "${GLUE}" "${text}")
