import assert from "node:assert/strict";
import { RangemakerError } from "../../lib/errors.ts";
import { MakerStatus } from "../../services/console/page/data/maker_status.ts";

const away = new RangemakerError("SERVICE_TIMEOUT", "the solver does not answer");

Deno.test('Maker: a failure without an answer means "away", and "cut off" if the network is down too', async () => {
  let hasNetwork = true;
  const maker = new MakerStatus(() => Promise.resolve(!hasNetwork));
  const state = () => [maker.isAway.value, maker.isCutOff.value];
  await maker.report(away);
  assert.deepEqual(state(), [true, false]);
  hasNetwork = false;
  await maker.report(away);
  assert.deepEqual(state(), [true, true]);
  await maker.report();
  assert.deepEqual(state(), [false, false]);
});

Deno.test("Maker: a refusal is an answer, so the maker is not away", async () => {
  const maker = new MakerStatus(() => Promise.resolve(false));
  await maker.report(new RangemakerError("BET_TOO_SMALL", "too small"));
  assert.equal(maker.isAway.value, false);
});

Deno.test("Maker: a late result of the network check does not override a newer answer", async () => {
  const network = Promise.withResolvers<boolean>();
  const maker = new MakerStatus(() => network.promise);
  const late = maker.report(away);
  await maker.report();
  network.resolve(true);
  await late;
  assert.deepEqual([maker.isAway.value, maker.isCutOff.value], [false, false]);
});
