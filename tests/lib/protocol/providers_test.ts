import assert from "node:assert/strict";
import { EXCHANGE_OF, findProvider, PROVIDER_NAMES } from "../../../lib/protocol/providers.ts";

Deno.test("findProvider: takes the spec's name and the exchange's, in any case", () => {
  for (const name of PROVIDER_NAMES) {
    assert.equal(findProvider(name), name);
    assert.equal(findProvider(EXCHANGE_OF[name]), name);
    assert.equal(findProvider(EXCHANGE_OF[name].toUpperCase()), name);
  }
  for (const text of ["", "provider_e", "binance ", "constructor"]) {
    assert.equal(findProvider(text), undefined, text);
  }
});
