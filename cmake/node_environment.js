// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Gives a program that Node runs Node's environment variables, as a native one has them.
Module["preRun"] = () => {
  if (typeof ENV !== "undefined" && typeof process === "object") Object.assign(ENV, process.env);
};
