// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A page with a component that computes in the browser.

import Client from './client.js';

export default function Page() {
  return <Client />;
}
