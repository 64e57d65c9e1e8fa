import assert from "node:assert/strict";
import { parseTape, readTape, TAPE_HEADER, TapeError } from "../../../lib/prices/tape.ts";

const ROWS = [
  "1675329600138,1206419187,buy,1666.8,26.062",
  "1675329600214,1206419188,sell,1666.79,0.152",
  "1675329600214,1206419189,buy,1666.8,0.226",
];

const text = [TAPE_HEADER, ...ROWS, ""].join("\n");

Deno.test("parseTape: reads trades in order of time", () => {
  assert.deepEqual(parseTape(text)[1], {
    timeMs: 1_675_329_600_214,
    side: "sell",
    price: 1_666_790_000n,
    amount: "0.152",
  });
  assert.deepEqual(parseTape(text.replaceAll("\n", "\r\n")), parseTape(text));
});

Deno.test("parseTape: names the first line that breaks a rule", () => {
  const wrong: [string, RegExp][] = [
    ["", /Expected time_ms,trade_id,side,price,amount in line 1: received ""/],
    ["time,price\n1,2", /in line 1: received "time,price"/],
    [TAPE_HEADER, /Expected two trades at different times: received 0/],
    [
      `${TAPE_HEADER}\n${ROWS[1]}\n${ROWS[2]}`,
      /Expected two trades at different times: received 2/,
    ],
    [`${text}garbage`, /Expected time_ms, .* in line 5: received "garbage"/],
    [`${text}1675329600999,1,hold,1,1`, /in line 5/],
    [`${text}1675329600999,1,buy,0,1`, /in line 5/],
    [`${text}1675329600999,1,buy,-5,1`, /in line 5/],
    [`${text}1675329600999,1,buy,5,`, /in line 5/],
    [
      `${text}1675329600138,1,buy,5,1`,
      /Expected a time that is not before the one above in line 5/,
    ],
  ];
  for (const [tape, rule] of wrong) {
    assert.throws(() => parseTape(tape), (thrown) => {
      assert(thrown instanceof TapeError);
      assert.match(thrown.message, rule);
      assert(!thrown.message.includes("\n"));
      return true;
    });
  }
});

Deno.test("readTape: a file that is not there is one clear line", async () => {
  await assert.rejects(readTape("no/such.csv"), /^TapeError: Tape no\/such.csv cannot be read: /);
});
