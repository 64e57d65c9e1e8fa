import assert from "node:assert/strict";
import { parseTape, readTape, spanMs, TAPE_HEADER, TapeError } from "../../../lib/prices/tape.ts";
import { withFolder } from "../../support/files.ts";

const ROWS = [
  "1675329600138,1206419187,buy,1666.8,26.062",
  "1675329600214,1206419188,sell,1666.79,0.152",
  "1675329600214,1206419189,buy,1666.8,0.226",
];

const text = [TAPE_HEADER, ...ROWS, ""].join("\n");

Deno.test("parseTape: reads trades in order of time", () => {
  const sides = parseTape(text).map(({ side }) => side);
  assert.deepEqual(sides, ["buy", "sell", "buy"]);
  assert.deepEqual(parseTape(text)[1], {
    timeMs: 1_675_329_600_214,
    side: "sell",
    price: 1_666_790_000n,
    amount: "0.152",
  });
  assert.deepEqual(parseTape(text.replaceAll("\n", "\r\n")), parseTape(text));
});

Deno.test("parseTape: the error names the first invalid line", () => {
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
    ...[
      "1675329600999000,1,buy,5,1",
      ",1,buy,5,1",
      "1675329600999,,buy,5,1",
      `1675329600999,${"1".repeat(21)},buy,5,1`,
      "1675329600999,a,buy,5,1",
      "1675329600999,1,buy,5",
      "1675329600999,1,buy,5,1,1",
      "1675329600999,1,buy,5,1.",
      "1675329600999,1,buy,5,.1",
      "1675329600999,1,buy,5,-1",
      `1675329600999,1,buy,5,${"1".repeat(31)}`,
      `1675329600999,1,buy,5,1.${"1".repeat(31)}`,
      " 1675329600999,1,buy,5,1",
      "1675329600999,1,buyer,5,1",
      "",
    ].map((line): [string, RegExp] => [`${text}${line}\n${ROWS[2]}`, /time_ms, .* in line 5/]),
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

Deno.test("readTape: a missing file is one clear line", async () => {
  await assert.rejects(readTape("no/such.csv"), /^TapeError: Tape no\/such.csv cannot be read: /);
});

Deno.test("parseTape: accepts the longest numbers that the format allows", () => {
  const [digits, id] = ["1".repeat(30), "1".repeat(20)];
  const rows = parseTape(
    `${TAPE_HEADER}\n1,1,buy,5,1\n${"9".repeat(15)},${id},buy,5,${digits}.${digits}`,
  );
  assert.equal(rows[1]?.amount, `${digits}.${digits}`);
  assert.equal(spanMs(rows), 999_999_999_999_998);
  assert.deepEqual([spanMs([]), spanMs(rows.slice(1))], [0, 0]);
});

Deno.test("readTape: reads a file, and refuses one over 128 MiB", () =>
  withFolder(async (folder) => {
    const path = `${folder}/tape.csv`;
    await Deno.writeTextFile(path, text);
    assert.deepEqual(await readTape(path), parseTape(text));
    await Deno.truncate(path, 128 * 1024 * 1024 + 1);
    await assert.rejects(readTape(path), /cannot be read: .*at most 134217728 bytes/);
    await Deno.writeTextFile(path, "no tape");
    await assert.rejects(readTape(path), /cannot be used: /);
  }));
