/**
 * Nobody can turn the moment of a submission, or a signature that it saw, against somebody else.
 * `TEST_SCHEDULES` sets the number of schedules.
 */
import assert from "node:assert/strict";
import { casesFrom, playSchedules } from "../support/random.ts";
import { BetsSchedule } from "./bets_schedule.ts";

const SCHEDULES = casesFrom("TEST_SCHEDULES", 80);
const STEPS = 180;

Deno.test(
  "Bets: despite strangers, an attacker and crashing solvers, the total is unchanged and every bet is signed",
  { timeout: 60_000 + 2_000 * SCHEDULES },
  async () => {
    let committed = 0;
    await playSchedules("TEST_SCHEDULES", SCHEDULES, async (random) => {
      const schedule = new BetsSchedule(random);
      for (let step = 0; step < STEPS; step++) await schedule.step();
      await schedule.finish();
      committed += schedule.committed;
    });
    assert.ok(SCHEDULES < 20 || committed > SCHEDULES, `only ${committed} bets were opened`);
  },
);
