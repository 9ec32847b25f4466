# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Run after Emscripten has written GLUE for a module with threads: OUTPUT is the same, but says what its file is called
# for this ENVIRONMENT, has the placeholders of threads_library.js, and gives a worker's options as the literal that
# bundlers look for.

function(replace from to)
  string(FIND "${text}" "${from}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "expected ${from} in ${GLUE}: this Emscripten writes it otherwise")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(READ "${GLUE}" text)
replace("\"tandem-threads.js\"" "\"tandem-threads-${ENVIRONMENT}.js\"")
replace("return{env:wasmImports," "return{placeholder:tandemPlaceholders,env:wasmImports,")
# The functions themselves, before Emscripten puts wrappers in the place of some.
replace("applySignatureConversions(wasmExports);" "applySignatureConversions(tandemExports=wasmExports);")
if(ENVIRONMENT STREQUAL "web")
  replace("import.meta.url),workerOptions)" "import.meta.url),{type:\"module\",name:\"em-pthread\"})")
endif()
file(WRITE "${OUTPUT}" "${text}")
