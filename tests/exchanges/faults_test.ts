import assert from "node:assert/strict";
import { binance } from "../../services/exchanges/dialects/binance.ts";
import { planFaults, plannedFaultSchema } from "../../services/exchanges/faults.ts";
import { Venue } from "../../services/exchanges/venue.ts";
import { FakeClock } from "../support/fake_clock.ts";

Deno.test("plannedFaultSchema: reads venue, fault, beginning and length", () => {
  const cases: [string, unknown][] = [
    ["okx=stall", { provider: "provider_d", fault: "stall", afterMs: 0, forMs: undefined }],
    ["provider_a=gap@500", {
      provider: "provider_a",
      fault: "gap",
      afterMs: 500,
      forMs: undefined,
    }],
    ["kraken=slow@1+2", { provider: "provider_c", fault: "slow", afterMs: 1, forMs: 2 }],
  ];
  for (const [text, planned] of cases) assert.deepEqual(plannedFaultSchema.parse(text), planned);
  for (
    const text of ["okx", "okx=fire", "mtgox=stall", "okx=stall@", "okx=stall+5", "okx=stall@-1"]
  ) {
    assert(!plannedFaultSchema.safeParse(text).success, text);
  }
});

Deno.test("planFaults: faults begin and end on time, unless called off", () => {
  const clock = new FakeClock();
  const venue = new Venue({ dialect: binance, markets: ["BTC/USDT"], clock });
  const plan = ["binance=stall@1000+500", "binance=gap@2000"].map((text) =>
    plannedFaultSchema.parse(text)
  );
  const callOff = planFaults(plan, () => venue, clock);
  const has = () => [venue.has("stall"), venue.has("gap")];
  clock.advance(999);
  assert.deepEqual(has(), [false, false]);
  clock.advance(1);
  assert.deepEqual(has(), [true, false]);
  clock.advance(500);
  assert.deepEqual(has(), [false, false]);
  callOff();
  clock.advance(10_000);
  assert.deepEqual(has(), [false, false]);
});
