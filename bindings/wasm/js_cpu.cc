// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The devices of a module without WebGPU.

#include "js_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"

namespace tandem::js {

void EnableProgramFusion(tandem_js& js) { tandem::EnableProgramFusion(*js.running().cpu, &tandem_js_run_code); }

void EnableCallFusion(tandem_js& js) { tandem::EnableCallFusion(*js.running().cpu, &tandem_js_run_code); }

}  // namespace tandem::js
