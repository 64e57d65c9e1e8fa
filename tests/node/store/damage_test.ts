import assert from "node:assert/strict";
import { withSeed } from "../../support/random.ts";
import { damageMany } from "../damage.ts";

Deno.test("Data directory: random damage is detected or harmless", () =>
  withSeed(async (random) => {
    const { refused, whole, lackPrices } = await damageMany(40, random);
    assert.equal(refused + whole + lackPrices, 40);
    assert.ok(refused > 0 && whole > 0, `${refused} refused, ${whole} whole`);
  }));
