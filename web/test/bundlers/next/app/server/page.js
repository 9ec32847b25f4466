// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A page that the server computes.

import { compute } from '../compute.js';

export const dynamic = 'force-dynamic';

export default async function Page() {
  return <p id="result">{JSON.stringify(await compute())}</p>;
}
