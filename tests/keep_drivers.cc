// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// For programs with AddressSanitizer that use a Vulkan driver: what a library has left over is told apart from our own
// leaks only while it is loaded, so libraries stay, and the validation layer's leaks (of version 1.3.239; without the
// layer there are none) are not counted.

extern "C" {

// In the place of the C library's, for the Vulkan loader, which unloads drivers and layers.
int dlclose(void*) { return 0; }

const char* __lsan_default_suppressions() { return "leak:libVkLayer_khronos_validation.so\n"; }

}  // extern "C"
