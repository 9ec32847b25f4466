# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Run after Emscripten has written GLUE for a module with threads: OUTPUT is the same, but has its workers run what the
# option workerUrl says, since bundlers give the file another name, and has the placeholders of threads_library.js. For
# browsers its factory also goes by a name, for bundlers that take the exports of a script away; for Node workers start
# whatever the options of the process.

function(replace from to)
  string(FIND "${text}" "${from}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "expected ${from} in ${GLUE}: this Emscripten writes it otherwise")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(READ "${GLUE}" text)
replace("new URL(\"tandem-threads.js\",import.meta.url)" "Module[\"workerUrl\"]")
replace("return{env:wasmImports," "return{placeholder:tandemPlaceholders,env:wasmImports,")
# The functions themselves, before Emscripten puts wrappers in the place of some.
replace("applySignatureConversions(wasmExports);" "applySignatureConversions(tandemExports=wasmExports);")
if(ENVIRONMENT STREQUAL "node")
  # Workers take over the options of the process, of which Node refuses those that are of a program given as text; and of
  # options that are given, those of V8, which are the process's in any case. So none are, where that must be.
  replace("workerData:\"em-pthread\","
          "workerData:\"em-pthread\",...process.execArgv.some(each=>each.startsWith(\"--input-type\"))&&{execArgv:[]},")
endif()
if(ENVIRONMENT STREQUAL "web")
  replace("export default " "export default globalThis[Symbol.for(\"tandem-rt/threads\")]=")
endif()
file(WRITE "${OUTPUT}" "${text}")
